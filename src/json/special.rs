//! Finds where a JSON string ends, and whether it is one: 64 bytes at a time.
//!
//! Opening a session spends most of its time here. A block of bytes is judged at once by the widest
//! vector instructions that the processor has, and gives one bit per byte for quotes, backslashes and
//! control characters. Which quotes are escaped follows from the bits alone, so that text full of
//! escapes costs one block after the other, not one search per escape.

/// Bytes that are judged at once.
const BLOCK: usize = 64;

/// How a string ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At the quote at `at`; whether there are escapes before it.
    Quote { at: usize, escaped: bool },
    /// Nowhere: this byte cannot occur there.
    Wrong(usize),
    /// The text ends before.
    Missing,
}

/// One bit for each byte of a block, the lowest for the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    quotes: u64,
    backslashes: u64,
    controls: u64,
}

/// Looks for the end of the string whose first byte behind the opening quote is at `start`.
#[inline]
pub(super) fn end_of_string(text: &[u8], start: usize) -> End {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has what the function asks for.
            return unsafe { end_by_avx512(text, start) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { end_by_avx2(text, start) };
        }
    }
    end_by(text, start, marks_by_words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,bmi1,bmi2")]
fn end_by_avx512(text: &[u8], start: usize) -> End {
    end_by(text, start, |block| marks_by_avx512(block))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn end_by_avx2(text: &[u8], start: usize) -> End {
    end_by(text, start, |block| marks_by_avx2(block))
}

/// The search, made for each kind of processor by inlining it with the judge of blocks.
#[inline(always)]
fn end_by(text: &[u8], start: usize, marks: impl Fn(&[u8; BLOCK]) -> Marks) -> End {
    let mut at = start;
    let mut escaped = false;
    // Whether the first byte of the block follows a backslash that counts.
    let mut carried = false;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Marks {
            quotes,
            backslashes,
            controls,
        } = match rest.first_chunk() {
            Some(block) => marks(block),
            None if rest.is_empty() => return End::Missing,
            None => marks(&padded(rest)),
        };
        if backslashes == 0 && !carried {
            // The usual block.
            let ends = quotes | controls;
            if ends != 0 {
                let first = ends.trailing_zeros();
                let found = at + first as usize;
                return match quotes >> first & 1 {
                    1 => End::Quote { at: found, escaped },
                    _ => End::Wrong(found),
                };
            }
        } else {
            let (follows, carry) = escaped_bytes(backslashes, carried);
            carried = carry;
            let ends = (quotes & !follows) | controls;
            let first = ends.trailing_zeros();
            // What is before the end; all of it if that is not in this block.
            let before = 1_u64.checked_shl(first).unwrap_or(0).wrapping_sub(1);
            escaped |= follows & before != 0;
            if let Some(wrong) = wrong_escape(text, at, follows & before) {
                return wrong;
            }
            if first < u64::BITS {
                let found = at + first as usize;
                return match quotes >> first & 1 {
                    1 => End::Quote { at: found, escaped },
                    _ => End::Wrong(found),
                };
            }
        }
        at += BLOCK;
    }
}

/// The last bytes of the text. What is added is no special byte.
#[cold]
#[inline(never)]
fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    if let Some(start) = block.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    block
}

/// The bytes that follow a backslash which is not itself escaped, and whether the next block begins
/// with one.
#[inline(always)]
fn escaped_bytes(backslashes: u64, carried: bool) -> (u64, bool) {
    const EVEN: u64 = u64::MAX / 3;
    let backslashes = backslashes & !u64::from(carried);
    let follows = backslashes << 1 | u64::from(carried);
    // Every second backslash of a run counts; adding at odd beginnings carries through the run, so
    // that the bit behind it tells whether its length is odd.
    let odd_beginnings = backslashes & !EVEN & !follows;
    let (runs, carry) = odd_beginnings.overflowing_add(backslashes);
    ((EVEN ^ (runs << 1)) & follows, carry)
}

/// What a byte means behind a backslash.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Letter,
    Unit,
}

/// A table, because a jump per escape is what text with many of them would cost.
static ESCAPES: [Escape; 256] = {
    let mut table = [Escape::None; 256];
    let letters = b"\"\\/bfnrt";
    let mut at = 0;
    while at < letters.len() {
        table[letters[at] as usize] = Escape::Letter;
        at += 1;
    }
    table[b'u' as usize] = Escape::Unit;
    table
};

/// The first of the marked bytes that may not follow a backslash.
#[inline(always)]
fn wrong_escape(text: &[u8], at: usize, mut marked: u64) -> Option<End> {
    while marked != 0 {
        let place = at + marked.trailing_zeros() as usize;
        marked &= marked - 1;
        let Some(&byte) = text.get(place) else {
            return Some(End::Missing);
        };
        match ESCAPES[byte as usize] {
            Escape::Letter => {}
            Escape::Unit => {
                if let Some(wrong) = wrong_digit(text, place) {
                    return Some(wrong);
                }
            }
            Escape::None => return Some(End::Wrong(place)),
        }
    }
    None
}

/// The first of the four bytes behind a `u` that is no hexadecimal digit.
fn wrong_digit(text: &[u8], u: usize) -> Option<End> {
    for place in u + 1..u + 5 {
        match text.get(place) {
            None => return Some(End::Missing),
            Some(byte) if byte.is_ascii_hexdigit() => {}
            Some(_) => return Some(End::Wrong(place)),
        }
    }
    None
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512bw")]
fn marks_by_avx512(block: &[u8; BLOCK]) -> Marks {
    use std::arch::x86_64::*;
    // SAFETY: the block has 64 bytes; an unaligned load is asked for.
    let bytes = unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) };
    Marks {
        quotes: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'"' as i8)),
        backslashes: _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\\' as i8)),
        controls: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn marks_by_avx2(block: &[u8; BLOCK]) -> Marks {
    use std::arch::x86_64::*;
    let mut marks = Marks {
        quotes: 0,
        backslashes: 0,
        controls: 0,
    };
    for half in 0..2 {
        // SAFETY: both halves of 32 bytes lie in the block; unaligned loads are asked for.
        let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast::<__m256i>().add(half)) };
        let bits = |hits| u64::from(_mm256_movemask_epi8(hits) as u32) << (half * 32);
        marks.quotes |= bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8)));
        marks.backslashes |= bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8)));
        let lowered = _mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f));
        marks.controls |= bits(_mm256_cmpeq_epi8(bytes, lowered));
    }
    marks
}

/// The same for any processor: eight bytes in a word.
#[inline(always)]
fn marks_by_words(block: &[u8; BLOCK]) -> Marks {
    const ONES: u64 = u64::MAX / 0xff;
    const LOW: u64 = ONES * 0x7f;
    // The highest bit of each byte that is zero; nothing is carried from byte to byte.
    let zeros = |word: u64| !(((word & LOW) + LOW) | word) >> 7 & ONES;
    // Gathers those bits in the highest byte.
    let gather = |word: u64| word.wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut marks = Marks {
        quotes: 0,
        backslashes: 0,
        controls: 0,
    };
    for (at, bytes) in block.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        marks.quotes |= gather(zeros(word ^ (ONES * u64::from(b'"')))) << (at * 8);
        marks.backslashes |= gather(zeros(word ^ (ONES * u64::from(b'\\')))) << (at * 8);
        marks.controls |= gather(zeros(word & (ONES * 0xe0))) << (at * 8);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(block: &[u8; BLOCK]) -> Marks {
        let bits = |special: fn(u8) -> bool| {
            let bytes = block.iter().enumerate();
            bits_of(bytes.map(|(at, &byte)| (at, special(byte))))
        };
        Marks {
            quotes: bits(|byte| byte == b'"'),
            backslashes: bits(|byte| byte == b'\\'),
            controls: bits(|byte| byte < 0x20),
        }
    }

    fn bits_of(flags: impl Iterator<Item = (usize, bool)>) -> u64 {
        flags.fold(0, |bits, (at, flag)| bits | u64::from(flag) << at)
    }

    /// All judges that this processor can run.
    fn judges(block: &[u8; BLOCK]) -> Vec<Marks> {
        let mut all = vec![marks_by_words(block)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has it.
                all.push(unsafe { marks_by_avx2(block) });
            }
            if is_x86_feature_detected!("avx512bw") {
                // SAFETY: the processor has it.
                all.push(unsafe { marks_by_avx512(block) });
            }
        }
        all
    }

    /// One byte after the other, as the grammar says it.
    fn end_by_bytes(text: &[u8], start: usize) -> End {
        let mut escaped = false;
        let mut at = start;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => return End::Quote { at, escaped },
                b'\\' => {
                    escaped = true;
                    at += 1;
                    match text.get(at) {
                        None => return End::Missing,
                        Some(b'u') => {
                            if let Some(wrong) = wrong_digit(text, at) {
                                return wrong;
                            }
                        }
                        Some(next) if b"\"\\/bfnrt".contains(next) => {}
                        Some(_) => return End::Wrong(at),
                    }
                }
                0..0x20 => return End::Wrong(at),
                _ => {}
            }
            at += 1;
        }
        End::Missing
    }

    fn ends(text: &[u8], start: usize) -> Vec<End> {
        let mut all = vec![
            end_by(text, start, marks_by_words),
            end_of_string(text, start),
        ];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            all.push(unsafe { end_by_avx2(text, start) });
        }
        all
    }

    #[test]
    fn every_byte_in_every_place() {
        for byte in 0..=255 {
            for at in 0..BLOCK {
                let mut block = [b'x'; BLOCK];
                block[at] = byte;
                for marks in judges(&block) {
                    assert_eq!(marks, expected(&block), "{byte} at {at}");
                }
            }
        }
    }

    #[test]
    fn runs_of_backslashes_across_blocks() {
        for before in 0..140 {
            for run in 0..9 {
                for last in ["\"", "n\"", "u00e9\"", "u0", "x\"", ""] {
                    let text = format!("{}{}{last}", "y".repeat(before), "\\".repeat(run));
                    let expected = end_by_bytes(text.as_bytes(), 0);
                    for end in ends(text.as_bytes(), 0) {
                        assert_eq!(end, expected, "{text}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_block(block in prop::collection::vec(any::<u8>(), BLOCK)) {
            let block: [u8; BLOCK] = block.try_into().unwrap();
            for marks in judges(&block) {
                prop_assert_eq!(marks, expected(&block));
            }
        }

        #[test]
        fn any_string(
            parts in prop::collection::vec("(x{0,70}|é{0,40}|\\\\[\"nu\\\\]|\\\\u00e9|\u{1f}|\"){1,3}", 0..8),
            start in 0_usize..200,
        ) {
            let text = parts.concat().into_bytes();
            let expected = end_by_bytes(&text, start);
            for end in ends(&text, start) {
                prop_assert_eq!(end, expected);
            }
        }
    }
}
