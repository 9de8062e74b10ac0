//! Paths as text: making them absolute and tidy without asking the file system, the way the host's
//! `path.resolve` and `path.join` do, and comparing them component by component.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::{Error, Result};

/// Removes `.`, `..` and double or trailing separators. Links are not followed, so `a/link/..` is
/// `a`. Leading `..` of relative paths stay, those of absolute ones vanish. Empty becomes `.`.
pub fn normalize(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match tidy.components().next_back() {
                Some(Component::Normal(_)) => {
                    tidy.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => tidy.push(".."),
            },
            other => tidy.push(other),
        }
    }
    if tidy.as_os_str().is_empty() {
        tidy.push(".");
    }
    tidy
}

/// Makes a path absolute and tidy. Without a working directory (it may have been removed) relative
/// paths fail the way the host's `process.cwd()` does.
pub fn absolute(path: &Path, working_directory: Option<&Path>) -> Result<PathBuf> {
    if path.is_absolute() {
        return Ok(normalize(path));
    }
    match working_directory {
        Some(base) => Ok(normalize(&base.join(path))),
        None => Err(Error::io("uv_cwd", path, io::ErrorKind::NotFound.into())),
    }
}

/// Appends `rest` to `base` even if it looks absolute (`a` and `/b` make `a/b`), and tidies up.
pub fn join(base: &Path, rest: &str) -> PathBuf {
    normalize(&base.join(rest.trim_start_matches(std::path::is_separator)))
}

/// The path with links resolved, or the path itself when it cannot be resolved (for example because
/// it does not exist).
pub fn canonical(path: &Path) -> PathBuf {
    match std::fs::canonicalize(path) {
        Ok(real) => without_verbatim_prefix(real),
        Err(_) => path.to_path_buf(),
    }
}

#[cfg(not(windows))]
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    path
}

/// Windows answers with `\\?\C:\…`, which nobody else writes.
#[cfg(windows)]
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    let plain = path.to_str().and_then(|text| {
        let text = text.strip_prefix(r"\\?\")?;
        Some(match text.strip_prefix(r"UNC\") {
            Some(share) => PathBuf::from(format!(r"\\{share}")),
            None => PathBuf::from(text),
        })
    });
    plain.unwrap_or(path)
}

/// The way from `base` down to `path` (empty when they are the same), or `None` when `path` is not
/// at or below `base`. Compares whole components, so `/home/u-x` is not below `/home/u`, and a child
/// named `..x` is. Ignores case on Windows.
pub fn below(base: &Path, path: &Path) -> Option<PathBuf> {
    let mut rest = path.components();
    for expected in base.components() {
        let found = rest.next()?;
        if !same_name(expected.as_os_str(), found.as_os_str()) {
            return None;
        }
    }
    Some(rest.as_path().to_path_buf())
}

/// True when both spell the same path; ignores case on Windows.
pub fn same(left: &Path, right: &Path) -> bool {
    below(left, right).is_some_and(|rest| rest.as_os_str().is_empty())
}

#[cfg(not(windows))]
fn same_name(left: &OsStr, right: &OsStr) -> bool {
    left == right
}

#[cfg(windows)]
fn same_name(left: &OsStr, right: &OsStr) -> bool {
    left.to_string_lossy().to_lowercase() == right.to_string_lossy().to_lowercase()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tidy(path: &str) -> String {
        normalize(Path::new(path)).to_string_lossy().into_owned()
    }

    #[test]
    fn normalizes_like_the_host() {
        let cases = [
            ("/a/b/../c", "/a/c"),
            ("/a//b/./c/", "/a/b/c"),
            ("/../..", "/"),
            ("//a", "/a"),
            ("a/..", "."),
            ("", "."),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("../../a", "../../a"),
            ("/a/..b/...", "/a/..b/..."),
        ];
        for (path, expected) in cases {
            assert_eq!(tidy(path), expected, "{path}");
        }
    }

    #[test]
    fn resolves_against_the_working_directory() {
        let base = Some(Path::new("/w/d"));
        let resolve = |path: &str| absolute(Path::new(path), base).unwrap();
        assert_eq!(resolve("p"), Path::new("/w/d/p"));
        assert_eq!(resolve(""), Path::new("/w/d"));
        assert_eq!(resolve("../p/"), Path::new("/w/p"));
        assert_eq!(resolve("/p"), Path::new("/p"));
    }

    #[test]
    fn needs_a_working_directory_only_for_relative_paths() {
        assert_eq!(absolute(Path::new("/a"), None).unwrap(), Path::new("/a"));
        let error = absolute(Path::new("a"), None).unwrap_err();
        assert_eq!((error.code(), error.syscall()), ("ENOENT", Some("uv_cwd")));
    }

    #[test]
    fn joins_even_absolute_rests() {
        assert_eq!(join(Path::new("/h"), "/x"), Path::new("/h/x"));
        assert_eq!(join(Path::new("/h"), "../x"), Path::new("/x"));
        assert_eq!(join(Path::new("rel/"), "x"), Path::new("rel/x"));
    }

    #[test]
    fn below_compares_components() {
        let cases = [
            ("/home/u", "/home/u", Some("")),
            ("/home/u", "/home/u/a/b", Some("a/b")),
            ("/home/u", "/home/u-x", None),
            ("/home/u", "/home/u/..x", Some("..x")),
            ("/home/u", "/home", None),
            ("/", "/a", Some("a")),
        ];
        for (base, path, expected) in cases {
            assert_eq!(
                below(Path::new(base), Path::new(path)).as_deref(),
                expected.map(Path::new),
                "{base} {path}"
            );
        }
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing(path in "[a/.]{0,12}") {
            let once = normalize(Path::new(&path));
            prop_assert_eq!(&normalize(&once), &once);
        }

        #[test]
        fn what_is_joined_is_below(name in "[a-z.]{1,8}", base in "(/[a-z]{1,3}){0,4}") {
            prop_assume!(name != "." && name != "..");
            let base = PathBuf::from(format!("/{base}"));
            let found = below(&normalize(&base), &normalize(&base.join(&name)));
            prop_assert_eq!(found, Some(PathBuf::from(name)));
        }
    }
}
