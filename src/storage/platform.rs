//! The few places where operating systems differ. Unix is the reference; elsewhere modes are left
//! to the system and files have no identity.

#[cfg(not(unix))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, negative before.
fn nanoseconds(time: SystemTime) -> i128 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::io::Errno;

    use crate::storage::disk::{DIR_MODE, FileIdentity, FileStat};

    pub(in crate::storage) fn set_creation_mode(options: &mut OpenOptions, mode: u32) {
        options.mode(mode);
    }

    pub(in crate::storage) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(mode))
    }

    pub(in crate::storage) fn dir_builder() -> DirBuilder {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(DIR_MODE);
        builder
    }

    pub(in crate::storage) fn file_stat(metadata: &Metadata) -> FileStat {
        FileStat {
            identity: FileIdentity {
                dev: metadata.dev(),
                inode: metadata.ino(),
            },
            len: metadata.len(),
            mode: metadata.mode() & 0o7777,
            mtime_ns: metadata.modified().map_or(0, super::nanoseconds),
            ctime_ns: i128::from(metadata.ctime()) * 1_000_000_000
                + i128::from(metadata.ctime_nsec()),
            is_file: metadata.is_file(),
            is_dir: metadata.is_dir(),
        }
    }

    pub(in crate::storage) fn write_at(
        file: &File,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    pub(in crate::storage) fn read_at(
        file: &File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    /// Some file systems refuse to sync directories; their names are as durable as they get.
    pub(in crate::storage) fn sync_dir(dir: &Path) -> io::Result<()> {
        match File::open(dir)?.sync_all() {
            Err(error) if unsupported(&error) => Ok(()),
            outcome => outcome,
        }
    }

    fn unsupported(error: &io::Error) -> bool {
        let number = error.raw_os_error();
        [Errno::INVAL, Errno::NOTSUP, Errno::BADF, Errno::NOSYS]
            .iter()
            .any(|known| Some(known.raw_os_error()) == number)
    }

    /// Whether a failure means that this file system has no locks or no second names for files.
    pub(in crate::storage) fn not_offered(error: &io::Error) -> bool {
        let number = error.raw_os_error();
        let known = [
            Errno::NOLCK,
            Errno::PERM,
            Errno::NOTSUP,
            Errno::OPNOTSUPP,
            Errno::NOSYS,
            Errno::INVAL,
            Errno::MLINK,
            Errno::XDEV,
        ];
        known
            .iter()
            .any(|known| Some(known.raw_os_error()) == number)
    }

    /// Renames unless there is something at `to`.
    pub(in crate::storage) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        match rename_without_replacing(from, to) {
            Err(error) if unsupported(&error) => {
                std::fs::hard_link(from, to)?;
                std::fs::remove_file(from)
            }
            outcome => outcome,
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn rename_without_replacing(_from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::Error::from(Errno::NOSYS))
    }

    pub(in crate::storage) fn too_many_links() -> io::Error {
        io::Error::from(Errno::LOOP)
    }

    pub(in crate::storage) fn is_a_directory() -> io::Error {
        io::Error::from(Errno::ISDIR)
    }

    /// Opening a pipe must not wait for its other end.
    pub(in crate::storage) fn never_wait(options: &mut OpenOptions) {
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io::{self, Read, Seek, SeekFrom, Write};
    use std::path::Path;

    use crate::storage::disk::{FILE_MODE, FileIdentity, FileStat};

    pub(in crate::storage) fn set_creation_mode(_options: &mut OpenOptions, _mode: u32) {}

    pub(in crate::storage) fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::storage) fn dir_builder() -> DirBuilder {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        builder
    }

    pub(in crate::storage) fn file_stat(metadata: &Metadata) -> FileStat {
        FileStat {
            identity: FileIdentity::NONE,
            len: metadata.len(),
            mode: FILE_MODE,
            mtime_ns: metadata.modified().map_or(0, super::nanoseconds),
            ctime_ns: metadata.created().map_or(0, super::nanoseconds),
            is_file: metadata.is_file(),
            is_dir: metadata.is_dir(),
        }
    }

    pub(in crate::storage) fn write_at(
        mut file: &File,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<usize> {
        let position = file.stream_position()?;
        file.seek(SeekFrom::Start(offset))?;
        let outcome = file.write(bytes);
        file.seek(SeekFrom::Start(position))?;
        outcome
    }

    pub(in crate::storage) fn read_at(
        mut file: &File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let position = file.stream_position()?;
        file.seek(SeekFrom::Start(offset))?;
        let outcome = file.read(buffer);
        file.seek(SeekFrom::Start(position))?;
        outcome
    }

    pub(in crate::storage) fn sync_dir(_dir: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::storage) fn not_offered(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::Unsupported
    }

    pub(in crate::storage) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)?;
        std::fs::remove_file(from)
    }

    pub(in crate::storage) fn too_many_links() -> io::Error {
        io::Error::from(io::ErrorKind::InvalidInput)
    }

    pub(in crate::storage) fn is_a_directory() -> io::Error {
        io::Error::from(io::ErrorKind::IsADirectory)
    }

    pub(in crate::storage) fn never_wait(_options: &mut OpenOptions) {}
}
