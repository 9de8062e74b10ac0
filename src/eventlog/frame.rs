//! Zstandard frames: one for the header, one for every append, each with a checksum.
//!
//! Where frames end is read from their structure, without decoding them (RFC 8878, section 3.1.1). Only
//! the end of the file can make a frame torn; wrong bytes are corruption.

use std::io::Write;
use std::ops::Range;

use zstd::stream::write::Encoder;
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective, get_error_name};

use super::failure::{self, corrupt};
use crate::{Error, Result};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The default of the format's own tools, and of the writers that we share files with.
const LEVEL: i32 = 3;
/// What the decoder puts out at once, at most.
const BLOCK: usize = 128 * 1024;

/// Where the frames of a file are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) complete: Vec<Range<usize>>,
    /// Beginning of a last frame that is cut off.
    pub(super) torn: Option<usize>,
}

/// Finds the frames of a file.
pub(super) fn frames(bytes: &[u8]) -> Result<Frames> {
    let mut complete = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(end) = frame_end(bytes, at)? else {
            return Ok(Frames {
                complete,
                torn: Some(at),
            });
        };
        complete.push(at..end);
        at = end;
    }
    Ok(Frames {
        complete,
        torn: None,
    })
}

/// The end of the frame that begins at `start`; `None` if the bytes end before.
pub(super) fn frame_end(bytes: &[u8], start: usize) -> Result<Option<usize>> {
    let wrong = |what: &str, at: usize| {
        Err(corrupt(format!(
            "corrupt Zstandard session log: {what} at byte {at}"
        )))
    };
    let Some(magic) = bytes.get(start..start + 4) else {
        return Ok(None);
    };
    if magic != MAGIC {
        return wrong("invalid frame magic", start);
    }
    let mut at = start + 4;
    let Some(&descriptor) = bytes.get(at) else {
        return Ok(None);
    };
    if descriptor & 0x18 != 0 {
        return wrong("reserved frame-header bit", at);
    }
    let single_segment = descriptor & 0x20 != 0;
    let dictionary_id = match descriptor & 3 {
        3 => 4,
        other => usize::from(other),
    };
    let content_size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        flag => 1 << flag,
    };
    at += 1 + usize::from(!single_segment) + dictionary_id + content_size;
    loop {
        let Some(&[low, middle, high]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
            return Ok(None);
        };
        let header = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
        let length = match header >> 1 & 3 {
            3 => return wrong("reserved block type", at),
            1 => 1,
            _ => header >> 3,
        };
        at += 3 + length;
        if at > bytes.len() {
            return Ok(None);
        }
        if header & 1 == 1 {
            break;
        }
    }
    at += if descriptor & 4 != 0 { 4 } else { 0 };
    Ok((at <= bytes.len()).then_some(at))
}

/// One frame of a text, with a checksum. The size of the text is not stored, so that the frame can be
/// read with a window of bounded size, however long it is.
pub(super) fn encode(text: &[u8]) -> Result<Vec<u8>> {
    let encoded = Encoder::new(Vec::new(), LEVEL).and_then(|mut encoder| {
        encoder.include_checksum(true)?;
        encoder.write_all(text)?;
        encoder.finish()
    });
    encoded.map_err(|error| Error::Internal(format!("compression failed: {error}")))
}

/// Decodes frames one after the other.
pub(super) struct Decoder(DCtx<'static>);

impl Decoder {
    pub(super) fn new() -> Result<Self> {
        DCtx::try_create()
            .map(Self)
            .ok_or_else(|| Error::Internal("no memory for decompression".to_owned()))
    }

    /// Adds the text of a complete frame. The error is the engine's, without context.
    pub(super) fn decode(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self.run(frame, out)? {
            true => Ok(()),
            false => Err(failure::engine("Unexpected end of frame")),
        }
    }

    /// What can be decoded of a frame that is cut off; nothing if it is damaged besides.
    pub(super) fn recover(&mut self, torn: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match self.run(torn, &mut out) {
            Ok(_) => out,
            Err(_) => Vec::new(),
        }
    }

    /// True when the frame ended with the input.
    fn run(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let engine = |code| failure::engine(get_error_name(code));
        self.0.reset(ResetDirective::SessionOnly).map_err(engine)?;
        let mut input = InBuffer::around(frame);
        loop {
            out.reserve(BLOCK);
            let (start, room) = (out.len(), out.capacity());
            let mut output = OutBuffer::around_pos(out, start);
            let hint = self
                .0
                .decompress_stream(&mut output, &mut input)
                .map_err(engine)?;
            let filled = output.pos();
            let consumed = input.pos() == frame.len();
            if hint == 0 {
                return Ok(consumed);
            }
            if consumed && filled < room {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(frame: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Decoder::new()?.decode(frame, &mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_are_those_of_the_other_writers() {
        let frame = encode(b"x\n").unwrap();
        // No content size, a window of 2 MiB, a checksum.
        assert_eq!(frame[4..6], [0x04, 0x58]);
        assert_eq!(decode(&frame).unwrap(), b"x\n");
    }

    #[test]
    fn a_changed_bit_is_noticed() {
        let frame = encode(&b"0123456789 some text, some text\n".repeat(20)).unwrap();
        for at in 6..frame.len() {
            let mut damaged = frame.clone();
            damaged[at] ^= 4;
            let whole = matches!(frame_end(&damaged, 0), Ok(Some(end)) if end == damaged.len());
            assert!(!whole || decode(&damaged).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn every_cut_is_a_torn_frame(text in prop::collection::vec(any::<u8>(), 0..300), second in "[a-c]{0,400}") {
            let mut file = encode(&text).unwrap();
            let first = file.len();
            file.extend(encode(second.as_bytes()).unwrap());
            let found = frames(&file).unwrap();
            prop_assert_eq!(&found.complete, &vec![0..first, first..file.len()]);
            prop_assert_eq!(decode(&file[..first]).unwrap(), text);
            for cut in first + 1..file.len() {
                let found = frames(&file[..cut]).unwrap();
                prop_assert_eq!(found.torn, Some(first));
                let recovered = Decoder::new().unwrap().recover(&file[first..cut]);
                prop_assert!(second.as_bytes().starts_with(&recovered));
            }
        }
    }
}
