//! The line scanner on arbitrary bytes: every byte is part of exactly one piece or is whitespace
//! between pieces, however the bytes arrive; values are values to another parser too, and a line that
//! is a value by itself is never taken for junk.

#![no_main]

use std::io::{self, Read};

use libfuzzer_sys::fuzz_target;
use session_manager_native::journal::head;
use session_manager_native::journal::lines::{Lines, Piece};
use session_manager_native_fuzz::is_value;

/// Hands out a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(out.len());
        let (now, later) = self.0.split_at(count);
        out[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Found {
    from: usize,
    to: usize,
    is_value: bool,
    glued: bool,
}

fn pieces(text: &[u8], step: usize) -> Vec<Found> {
    let mut lines = Lines::sized(Trickle(text, step), 1);
    let mut found = Vec::new();
    while let Some(piece) = lines
        .next(
            |cursor| head::read(cursor).map(|head| head.is_complete_entry()),
            |&complete| complete,
        )
        .expect("memory suffices")
    {
        found.push(match piece {
            Piece::Value {
                offset, len, glued, ..
            } => Found {
                from: offset as usize,
                to: offset as usize + len,
                is_value: true,
                glued,
            },
            Piece::Junk { offset, len } => Found {
                from: offset as usize,
                to: (offset + len) as usize,
                is_value: false,
                glued: false,
            },
        });
    }
    assert_eq!(
        lines.is_unterminated(),
        text.last().is_some_and(|&last| last != b'\n')
    );
    found
}

fuzz_target!(|data: &[u8]| {
    let Some((&step, text)) = data.split_first() else {
        return;
    };
    let found = pieces(text, usize::MAX);
    assert_eq!(pieces(text, 1 + usize::from(step)), found);

    // Nothing is left out, nothing comes twice.
    let mut position = if text.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    for piece in &found {
        assert!(piece.from >= position && piece.to > piece.from && piece.to <= text.len());
        assert!(
            text[position..piece.from]
                .iter()
                .all(u8::is_ascii_whitespace)
        );
        assert!(!piece.is_value || is_value(&text[piece.from..piece.to]));
        position = piece.to;
    }
    assert!(text[position..].iter().all(u8::is_ascii_whitespace));

    // Whole lines are found, unless they are part of a value that spans lines.
    let spans_lines =
        |piece: &&Found| piece.is_value && text[piece.from..piece.to].contains(&b'\n');
    let mut start = if text.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    for line in text[start..].split(|&byte| byte == b'\n') {
        let end = start + line.len();
        if is_value(line)
            && !found
                .iter()
                .filter(spans_lines)
                .any(|it| it.from < end && it.to > start)
        {
            let whole = found.iter().filter(|it| it.from >= start && it.to <= end);
            let whole: Vec<_> = whole.collect();
            assert!(whole.len() == 1 && whole[0].is_value && !whole[0].glued);
        }
        start = end + 1;
    }
});
