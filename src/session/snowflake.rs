//! Ids: snowflakes for sessions and temporary files, short random ids for entries.

use std::sync::atomic::{AtomicU32, Ordering};

/// 2015-01-01T00:00:00Z in milliseconds since 1970.
const EPOCH: u64 = 1_420_070_400_000;
/// The sequence is 22 bits wide.
const SEQUENCE_MASK: u32 = 0x3f_ffff;

/// Makes session ids: 42 bits of milliseconds since 2015, then a 22-bit sequence that starts at a
/// random value, so that two generators in one millisecond are unlikely to meet.
#[derive(Debug)]
pub struct SnowflakeGenerator {
    sequence: AtomicU32,
}

impl Default for SnowflakeGenerator {
    fn default() -> Self {
        Self {
            sequence: AtomicU32::new(random_u64() as u32 & SEQUENCE_MASK),
        }
    }
}

impl SnowflakeGenerator {
    /// The next id, 16 lower-case hex digits, for a time in milliseconds since 1970.
    pub fn next(&self, unix_millis: f64) -> String {
        let before = self.sequence.fetch_add(1, Ordering::Relaxed);
        let sequence = before.wrapping_add(1) & SEQUENCE_MASK;
        let millis = (unix_millis.max(0.0) as u64).saturating_sub(EPOCH);
        format!("{:016x}", (millis << 22) | u64::from(sequence))
    }
}

/// A random entry id that `taken` does not know: eight lower-case hex digits, or a snowflake when a
/// hundred attempts collided.
pub fn entry_id(
    taken: impl Fn(&str) -> bool,
    snowflakes: &SnowflakeGenerator,
    unix_millis: f64,
) -> String {
    for _ in 0..100 {
        let id = format!("{:08x}", random_u64() as u32);
        if !taken(&id) {
            return id;
        }
    }
    snowflakes.next(unix_millis)
}

/// Random bits from the operating system; should it have none, from the randomly keyed hasher of
/// the standard library, since ids must be distinct but need not be secret.
fn random_u64() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(std::time::Instant::now())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snowflakes_carry_the_time_and_differ() {
        let generator = SnowflakeGenerator::default();
        let a = generator.next(1_480_464_170_249.0);
        let b = generator.next(1_480_464_170_249.0);
        assert_ne!(a, b);
        assert_eq!(a.len(), 16);
        let value = u64::from_str_radix(&a, 16).unwrap();
        assert_eq!((value >> 22) + EPOCH, 1_480_464_170_249);
    }

    #[test]
    fn the_sequence_wraps() {
        let generator = SnowflakeGenerator {
            sequence: AtomicU32::new(SEQUENCE_MASK),
        };
        let value = u64::from_str_radix(&generator.next(EPOCH as f64), 16).unwrap();
        assert_eq!(value, 0);
    }

    #[test]
    fn taken_entry_ids_are_avoided() {
        let generator = SnowflakeGenerator::default();
        assert_eq!(entry_id(|_| false, &generator, 0.0).len(), 8);
        assert_eq!(entry_id(|id| id.len() == 8, &generator, 0.0).len(), 16);
    }
}
