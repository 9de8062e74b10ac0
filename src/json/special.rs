//! Finds the bytes that end or interrupt a JSON string: quotes, backslashes, control characters.
//!
//! Opening a session spends most of its time here, so a block of bytes is judged at once, with the
//! vector instructions that every x86-64 processor has, or else with those for words. One bit per
//! byte tells where the special ones are: text that is full of escapes costs one block after the
//! other, not one search per escape.

/// Bytes that are judged at once.
pub(super) const BLOCK: usize = 32;

/// One bit for each of the [`BLOCK`] bytes from `at` on, the lowest for the first: set for a byte
/// that is special. Bits beyond the end of the text are clear.
#[inline]
pub(super) fn marks(text: &[u8], at: usize) -> u32 {
    let rest = text.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return marks_of(block);
    }
    marks_at_end(rest)
}

/// Apart, so that the usual case stays one load and a few comparisons.
#[cold]
#[inline(never)]
fn marks_at_end(rest: &[u8]) -> u32 {
    let mut block = [b' '; BLOCK];
    if let Some(start) = block.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    marks_of(&block)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn marks_of(block: &[u8; BLOCK]) -> u32 {
    // SAFETY: SSE2 belongs to every x86-64 processor; the function asks for nothing else.
    unsafe { marks_by_vectors(block) }
}

/// Sixteen bytes at a time.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn marks_by_vectors(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: both halves lie in the block; unaligned loads are asked for.
    let halves = unsafe {
        let first = block.as_ptr().cast::<__m128i>();
        [_mm_loadu_si128(first), _mm_loadu_si128(first.add(1))]
    };
    let mut marks = 0;
    for (at, bytes) in halves.into_iter().enumerate() {
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
        let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        let controls = _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, _mm_set1_epi8(0x1f)));
        let special = _mm_or_si128(_mm_or_si128(quotes, backslashes), controls);
        marks |= (_mm_movemask_epi8(special) as u32) << (at * 16);
    }
    marks
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn marks_of(block: &[u8; BLOCK]) -> u32 {
    marks_by_words(block)
}

/// The same for any processor: eight bytes in a word.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn marks_by_words(block: &[u8; BLOCK]) -> u32 {
    const ONES: u64 = u64::MAX / 0xff;
    const LOW: u64 = ONES * 0x7f;
    let mut marks = 0;
    for (at, bytes) in block.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        // The highest bit of each byte that is not zero; nothing is carried from byte to byte.
        let not_zero = |word: u64| ((word & LOW) + LOW) | word;
        let plain = not_zero(word ^ (ONES * u64::from(b'"')))
            & not_zero(word ^ (ONES * u64::from(b'\\')))
            & not_zero(word & (ONES * 0xe0));
        // Gathers the highest bits in the highest byte.
        let bits = ((!plain >> 7) & ONES).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        marks |= (bits as u32) << (at * 8);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(block: &[u8]) -> u32 {
        let special = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
        let bits = block.iter().enumerate();
        bits.fold(0, |marks, (at, &byte)| {
            marks | u32::from(special(byte)) << at
        })
    }

    #[test]
    fn every_byte_in_every_place() {
        for byte in 0..=255 {
            for at in 0..BLOCK {
                let mut block = [b'x'; BLOCK];
                block[at] = byte;
                assert_eq!(marks_of(&block), expected(&block), "{byte} at {at}");
                assert_eq!(marks_by_words(&block), expected(&block), "{byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_block(block in proptest::array::uniform32(any::<u8>())) {
            prop_assert_eq!(marks_of(&block), expected(&block));
            prop_assert_eq!(marks_by_words(&block), expected(&block));
        }

        #[test]
        fn ends_of_texts(text in proptest::collection::vec(any::<u8>(), 0..40), at in 0_usize..50) {
            let rest = text.get(at..).unwrap_or_default();
            prop_assert_eq!(marks(&text, at), expected(&rest[..rest.len().min(BLOCK)]));
        }
    }
}
