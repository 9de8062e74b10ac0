//! Modification times, the order of listings, and which version of a file was seen.

use std::cmp::Ordering;
use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::storage::disk::{FileIdentity, stat_of};

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Time of a file's last modification in nanoseconds since 1970; negative before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Stamp(i128);

impl Stamp {
    /// The time of a file; 1970 where the system has none.
    pub fn of(metadata: &Metadata) -> Self {
        metadata.modified().map_or(Self::default(), Self::from)
    }

    /// In milliseconds since 1970 with a fraction, computed like the host's `mtimeMs`.
    pub fn millis(self) -> f64 {
        let seconds = self.0.div_euclid(NANOS_PER_SECOND) as f64;
        let nanos = self.0.rem_euclid(NANOS_PER_SECOND) as f64;
        seconds * 1e3 + nanos / 1e6
    }
}

/// A version of a file, as far as the system tells versions apart without reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Which file it is.
    pub identity: FileIdentity,
    /// Its length in bytes.
    pub len: u64,
    /// When it was last modified. Programs can set this back.
    pub modified: Stamp,
    /// When content or metadata last changed, by the system's clock.
    changed: Stamp,
}

impl Version {
    /// What the system says now.
    pub fn of(metadata: &Metadata) -> Self {
        let stat = stat_of(metadata);
        Self {
            identity: stat.identity,
            len: stat.len,
            modified: Stamp(stat.mtime_ns),
            changed: Stamp(stat.ctime_ns),
        }
    }

    /// Whether the file had been left alone for so long when it was looked at that the next change
    /// must get another time. Clocks of file systems are coarse: what is written twice in a moment
    /// can look the same both times.
    pub fn is_settled(&self, seen: SystemTime, quiet: Duration) -> bool {
        let latest = self.modified.max(self.changed);
        let quiet = i128::try_from(quiet.as_nanos()).unwrap_or(i128::MAX);
        Stamp::from(seen).0.saturating_sub(latest.0) >= quiet
    }
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Self {
        let nanos = |duration: std::time::Duration| {
            i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
        };
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(nanos(after)),
            Err(before) => Self(-nanos(before.duration())),
        }
    }
}

/// The order of listings: later modified first; of equally old files the one with the greater name,
/// because names begin with the time of creation.
pub fn newest_first(left: Stamp, left_path: &Path, right: Stamp, right_path: &Path) -> Ordering {
    right
        .cmp(&left)
        .then_with(|| right_path.file_name().cmp(&left_path.file_name()))
        .then_with(|| right_path.cmp(left_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_with_a_fraction() {
        let at = |nanos: u64| Stamp::from(UNIX_EPOCH + Duration::from_nanos(nanos));
        assert_eq!(at(1_500_000).millis(), 1.5);
        assert_eq!(
            at(1_700_000_000_123_456_789).millis(),
            1_700_000_000_123.456_8
        );
        let before = Stamp::from(UNIX_EPOCH - Duration::from_millis(1500));
        assert_eq!(before.millis(), -1500.0);
        assert!(before < at(0));
    }

    #[test]
    fn files_settle_when_neither_time_is_recent() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let version = |modified, changed| Version {
            identity: FileIdentity { dev: 1, inode: 1 },
            len: 1,
            modified: at(modified).into(),
            changed: at(changed).into(),
        };
        let quiet = Duration::from_secs(3);
        assert!(version(100, 100).is_settled(at(103), quiet));
        assert!(!version(100, 100).is_settled(at(102), quiet));
        assert!(!version(5, 100).is_settled(at(102), quiet));
        assert!(!version(200, 100).is_settled(at(103), quiet));
        assert!(version(5, 100).is_settled(at(104), quiet));
    }

    #[test]
    fn newer_files_come_first() {
        let (old, new) = (Stamp(1), Stamp(2));
        let (a, b) = (Path::new("/x/a"), Path::new("/w/b"));
        assert_eq!(newest_first(new, a, old, b), Ordering::Less);
        assert_eq!(newest_first(old, a, old, b), Ordering::Greater);
        assert_eq!(newest_first(old, a, old, a), Ordering::Equal);
    }
}
