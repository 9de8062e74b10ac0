//! Streams a JSONL text and yields its values, however damaged the text is.
//!
//! Lines end at byte 0x0A and nowhere else. The rules for what is not one value per line:
//!
//! * blank lines and a byte-order mark at the start are passed over;
//! * a value may span lines (pretty-printed files) when the lines together are valid; looking for
//!   its end is given up in files with very many torn lines;
//! * bytes behind a value on its line are offered as *glued* values where they are such, else junk;
//! * a line that is no value is junk, except for whole values behind its torn part, again offered
//!   as glued;
//! * an incomplete last line is junk that the next append must not touch.
//!
//! Memory: one buffer of [`CHUNK`] bytes, less for short texts, that grows with the longest line.

use std::io::{self, Read};

use memchr::{memchr, memmem};

use crate::json::cursor::Step;
use crate::json::{Cursor, Fault};

/// Bytes asked of the source at once. More would save few system calls and cost page faults.
pub const CHUNK: usize = 128 << 10;
/// Longest line that is read, in bytes: Node cannot hold it as a string if it is longer. Strings
/// have up to 2^29 - 24 units there, and an entry becomes an object as part of a list of one.
pub const LONGEST_LINE: usize = (1 << 29) - 24 - "[]".len();
/// How far a value may reach beyond its first line.
const LONGEST_MULTILINE: usize = 8 << 20;
/// What doubling the buffer ends at.
const LARGEST_BUFFER: usize = LONGEST_LINE + LONGEST_MULTILINE + CHUNK;
/// How much is searched for glued values in one line, as a multiple of its length.
const SALVAGE_EFFORT: usize = 8;
/// How much is read in vain for values that might span lines, as a multiple of the text before them.
const LOOKAHEAD_EFFORT: u64 = 8;

/// A piece of the text. Offsets count from the start of the text.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<T> {
    /// A JSON value.
    Value {
        /// Offset of its first byte.
        offset: u64,
        /// Length in bytes, without surrounding whitespace.
        len: usize,
        /// What the parser made of it.
        value: T,
        /// True when it shares its line with other bytes before it.
        glued: bool,
    },
    /// Bytes of one line that are no value.
    Junk {
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes, without the line feed.
        len: u64,
    },
}

/// The streaming reader.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of `buffer`.
    start: usize,
    end: usize,
    /// Offset in the text of `buffer[0]`.
    base: u64,
    exhausted: bool,
    /// When the current line has been read in part: where its rest ends.
    rest_of_line: Option<usize>,
    last_byte: Option<u8>,
    /// Bytes behind their first lines that were read for values that did not span lines.
    read_in_vain: u64,
    /// Bytes of the first buffer.
    chunk: usize,
}

impl<R: Read> Lines<R> {
    /// Starts reading.
    pub fn new(source: R) -> Self {
        Self::sized(source, CHUNK as u64)
    }

    /// Starts reading a text that is probably `length` bytes long. Short texts get a short buffer;
    /// a wrong guess only costs time.
    pub fn sized(source: R, length: u64) -> Self {
        // One byte more, so that the end is found without growing the buffer.
        let chunk = usize::try_from(length.saturating_add(1)).unwrap_or(CHUNK);
        Self {
            chunk: chunk.clamp(64, CHUNK),
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            base: 0,
            exhausted: false,
            rest_of_line: None,
            last_byte: None,
            read_in_vain: 0,
        }
    }

    /// Starts reading into a buffer that is there already; see [`Lines::into_buffer`].
    pub fn into_given(source: R, buffer: Vec<u8>) -> Self {
        Self {
            buffer,
            ..Self::new(source)
        }
    }

    /// The buffer, for reading another text.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Reads on from another source, whose first byte has this offset in the text and begins a line.
    pub fn restart(&mut self, source: R, offset: u64) {
        self.source = source;
        (self.start, self.end, self.base) = (0, 0, offset);
        self.exhausted = false;
        self.rest_of_line = None;
        self.last_byte = (offset > 0).then_some(b'\n');
    }

    /// Offset of the line that is to be read next; `None` in the middle of one.
    pub fn next_line(&mut self) -> Option<u64> {
        if let Some(line_end) = self.rest_of_line {
            let mut cursor = Cursor::at(self.text(line_end), self.start);
            if !cursor.at_end() {
                return None;
            }
            self.start = self.end.min(line_end + 1);
            self.rest_of_line = None;
        }
        Some(self.offset(self.start))
    }

    /// Bytes taken from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.base + self.end as u64
    }

    /// True when the text, as read so far, is not empty and lacks a final line feed.
    pub fn is_unterminated(&self) -> bool {
        self.last_byte.is_some_and(|byte| byte != b'\n')
    }

    /// The next piece. `parse` reads exactly one value from the cursor and gives what it wants to
    /// keep; it is called again with the same bytes when a value turns out to span lines.
    /// `complete` decides whether a value found behind torn bytes is whole enough to be trusted.
    pub fn next<T>(
        &mut self,
        mut parse: impl FnMut(&mut Cursor<'_>) -> Step<T>,
        complete: impl Fn(&T) -> bool,
    ) -> io::Result<Option<Piece<T>>> {
        loop {
            if let Some(line_end) = self.rest_of_line.take() {
                if let Some(piece) = self.rest(line_end, &mut parse, &complete) {
                    return Ok(Some(piece));
                }
                continue;
            }
            let Some(line_end) = self.find_line()? else {
                return Ok(None);
            };
            if line_end.is_none() {
                return self.pass_over_giant().map(Some);
            }
            let line_end = line_end.unwrap_or(self.end);
            if let Some(piece) = self.line(line_end, &mut parse, &complete)? {
                return Ok(Some(piece));
            }
        }
    }

    /// End of the current line in the buffer; inner `None` when it is too long, outer at the end.
    fn find_line(&mut self) -> io::Result<Option<Option<usize>>> {
        let mut searched = self.start;
        loop {
            let unread = self.buffer.get(searched..self.end).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                let end = searched + at;
                return Ok(Some((end - self.start <= LONGEST_LINE).then_some(end)));
            }
            let length = self.end - self.start;
            if length > LONGEST_LINE {
                return Ok(Some(None));
            }
            if self.exhausted || !self.fill()? {
                return Ok((length > 0).then_some(Some(self.end)));
            }
            searched = self.start + length;
        }
    }

    /// Reads more, making room first; false at the end of the source.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Doubling keeps the copying of a long line linear.
            let double = (self.end * 2).clamp(self.chunk, LARGEST_BUFFER);
            let size = double.max(self.end + self.chunk);
            // A line that does not fit into memory is an error, not the end of the process.
            self.buffer.try_reserve_exact(size - self.end)?;
            self.buffer.resize(size, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = loop {
            match self.source.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        if count == 0 {
            self.exhausted = true;
            return Ok(false);
        }
        self.end += count;
        self.last_byte = self.buffer.get(self.end - 1).copied();
        if self.base == 0 && self.start == 0 && self.text(self.end).starts_with(b"\xef\xbb\xbf") {
            self.start = 3;
        }
        Ok(true)
    }

    /// Passes over a line that no engine could hold.
    fn pass_over_giant<T>(&mut self) -> io::Result<Piece<T>> {
        let offset = self.offset(self.start);
        loop {
            let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                let len = self.offset(self.start + at) - offset;
                self.start += at + 1;
                return Ok(Piece::Junk { offset, len });
            }
            self.start = self.end;
            if !self.fill()? {
                let len = self.offset(self.end) - offset;
                return Ok(Piece::Junk { offset, len });
            }
        }
    }

    fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }

    fn text(&self, end: usize) -> &[u8] {
        self.buffer.get(..end).unwrap_or_default()
    }

    /// A whole line; `None` when it is blank.
    fn line<T>(
        &mut self,
        line_end: usize,
        parse: &mut impl FnMut(&mut Cursor<'_>) -> Step<T>,
        complete: &impl Fn(&T) -> bool,
    ) -> io::Result<Option<Piece<T>>> {
        let mut cursor = Cursor::at(self.text(line_end), self.start);
        if cursor.at_end() {
            self.start = self.end.min(line_end + 1);
            return Ok(None);
        }
        let from = cursor.pos();
        match parse(&mut cursor) {
            Ok(value) => {
                let to = cursor.pos();
                // Torn bytes that begin with a quotation mark would swallow the brace of the record
                // behind them.
                let is_string = self.buffer.get(from) == Some(&b'"');
                if is_string
                    && !Cursor::at(self.text(line_end), to).at_end()
                    && let Some(piece) = self.salvage(line_end, parse, complete)
                {
                    return Ok(Some(piece));
                }
                Ok(Some(self.take(from, to, line_end, value, false)))
            }
            Err(fault) => {
                if fault == Fault::Incomplete
                    && let Some(piece) = self.multiline(line_end, parse)?
                {
                    return Ok(Some(piece));
                }
                // The lookahead may have moved the line within the buffer.
                let line_end = memchr(
                    b'\n',
                    self.text(self.end).get(self.start..).unwrap_or_default(),
                )
                .map_or(self.end, |at| self.start + at);
                let piece = self.salvage(line_end, parse, complete);
                Ok(Some(piece.unwrap_or_else(|| self.junk(line_end))))
            }
        }
    }

    /// Hands out a value and remembers the rest of its line.
    fn take<T>(
        &mut self,
        from: usize,
        to: usize,
        line_end: usize,
        value: T,
        glued: bool,
    ) -> Piece<T> {
        let piece = Piece::Value {
            offset: self.offset(from),
            len: to - from,
            value,
            glued,
        };
        self.start = to;
        self.rest_of_line = Some(line_end);
        piece
    }

    /// Hands out the rest of the line as junk and moves to the next line.
    fn junk<T>(&mut self, line_end: usize) -> Piece<T> {
        let piece = Piece::Junk {
            offset: self.offset(self.start),
            len: (line_end - self.start) as u64,
        };
        self.start = self.end.min(line_end + 1);
        piece
    }

    /// What follows a value on its line; `None` when nothing does.
    fn rest<T>(
        &mut self,
        line_end: usize,
        parse: &mut impl FnMut(&mut Cursor<'_>) -> Step<T>,
        complete: &impl Fn(&T) -> bool,
    ) -> Option<Piece<T>> {
        let mut cursor = Cursor::at(self.text(line_end), self.start);
        if cursor.at_end() {
            self.start = self.end.min(line_end + 1);
            return None;
        }
        let from = cursor.pos();
        if let Ok(value) = parse(&mut cursor)
            && complete(&value)
        {
            return Some(self.take(from, cursor.pos(), line_end, value, true));
        }
        let piece = self.salvage(line_end, parse, complete);
        Some(piece.unwrap_or_else(|| self.junk(line_end)))
    }

    /// Tries to read a value that starts on this line and ends on a later one.
    fn multiline<T>(
        &mut self,
        line_end: usize,
        parse: &mut impl FnMut(&mut Cursor<'_>) -> Step<T>,
    ) -> io::Result<Option<Piece<T>>> {
        let allowed = self.offset(self.start).saturating_mul(LOOKAHEAD_EFFORT);
        if self.read_in_vain > allowed.saturating_add(LONGEST_MULTILINE as u64) {
            return Ok(None);
        }
        let first_line = line_end - self.start;
        let beyond = loop {
            let mut cursor = Cursor::at(self.text(self.end), self.start);
            match cursor.skip() {
                Ok(span) => {
                    let tail = self.text(self.end).get(span.end..).unwrap_or_default();
                    let line_is_read = memchr(b'\n', tail).is_some();
                    if line_is_read || self.exhausted || !self.fill()? {
                        return Ok(self.take_multiline(parse));
                    }
                }
                Err(Fault::Syntax(at)) => break at.saturating_sub(self.start + first_line),
                Err(Fault::Incomplete) => {
                    let beyond = self.end - self.start - first_line;
                    if beyond > LONGEST_MULTILINE || self.exhausted || !self.fill()? {
                        break beyond;
                    }
                }
            }
        };
        self.read_in_vain += beyond as u64;
        Ok(None)
    }

    /// The value that starts here and the rest of its last line are in the buffer.
    fn take_multiline<T>(
        &mut self,
        parse: &mut impl FnMut(&mut Cursor<'_>) -> Step<T>,
    ) -> Option<Piece<T>> {
        let span = Cursor::at(self.text(self.end), self.start).skip().ok()?;
        let value = parse(&mut Cursor::at(self.text(span.end), span.start)).ok()?;
        let tail = self.buffer.get(span.end..self.end).unwrap_or_default();
        let line_end = memchr(b'\n', tail).map_or(self.end, |at| span.end + at);
        Some(self.take(span.start, span.end, line_end, value, false))
    }

    /// Looks for a whole value behind torn bytes. The bytes before it come out as junk first, and
    /// the value is read again as the rest of its line.
    fn salvage<T>(
        &mut self,
        line_end: usize,
        parse: &mut impl FnMut(&mut Cursor<'_>) -> Step<T>,
        complete: &impl Fn(&T) -> bool,
    ) -> Option<Piece<T>> {
        let line = self.text(line_end);
        let mut effort = (line_end - self.start).saturating_mul(SALVAGE_EFFORT);
        let search_from = self.start + 1;
        for at in memmem::find_iter(line.get(search_from..)?, b"{\"type\":\"") {
            let from = search_from + at;
            let mut cursor = Cursor::at(line, from);
            let outcome = parse(&mut cursor);
            effort = effort.checked_sub(cursor.pos() - from)?;
            let Ok(value) = outcome else { continue };
            if complete(&value) && ends_record(line, cursor.pos()) {
                let piece = Piece::Junk {
                    offset: self.offset(self.start),
                    len: (from - self.start) as u64,
                };
                self.start = from;
                self.rest_of_line = Some(line_end);
                return Some(piece);
            }
        }
        None
    }
}

/// A whole record behind torn bytes is followed by the end of its line or by another object: a
/// complete object nested in the torn value would be followed by a comma or bracket.
fn ends_record(line: &[u8], at: usize) -> bool {
    let mut cursor = Cursor::at(line, at);
    cursor.at_end()
        || line
            .get(cursor.pos())
            .is_some_and(|&byte| byte == b'{' || byte == 0)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
