//! Files of a directory by pattern.
//!
//! `*` and `?` stop at `/`, `**` as a whole component does not; `[…]`, `{…,…}`, `\` and a leading
//! `!` work as usual; `?` and `[…]` stand for one byte of UTF-8; matching is case-sensitive. Only
//! regular files match: neither directories nor symbolic links, which are not followed either, and
//! nothing whose name or directory begins with a dot.

use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::Path;

use crate::Result;
use crate::error::IoContext;

/// Paths relative to `dir` of the matching files, in no particular order. A missing directory, a
/// file in its place and a malformed pattern give nothing, as do sub-directories that cannot be
/// read. Names that are not Unicode are left out, no string could lead to them.
pub fn list_files(dir: &Path, pattern: &str) -> Result<Vec<String>> {
    let mut search = Search {
        pattern: pattern.trim_start_matches("./"),
        recursive: pattern.contains('/') || pattern == "**",
        found: Vec::new(),
    };
    match fs::read_dir(dir) {
        Ok(entries) => search.visit(entries.flatten(), ""),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error).during("scandir", dir),
    }
    Ok(search.found)
}

struct Search<'a> {
    pattern: &'a str,
    /// Whether anything below sub-directories can match at all.
    recursive: bool,
    found: Vec<String>,
}

impl Search<'_> {
    fn visit(&mut self, entries: impl Iterator<Item = DirEntry>, prefix: &str) {
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            // The type is the entry's own: links are neither files nor directories here.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = format!("{prefix}{name}");
            if kind.is_file() && fast_glob::glob_match(self.pattern, &path) {
                self.found.push(path);
            } else if kind.is_dir()
                && self.recursive
                && let Ok(below) = fs::read_dir(entry.path())
            {
                self.visit(below.flatten(), &format!("{path}/"));
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn tree() -> TempDir {
        let root = TempDir::new().unwrap();
        for path in [
            "a.jsonl",
            "ab.jsonl",
            "B.JSONL",
            ".h.jsonl",
            "x.txt",
            "[x].jsonl",
            "a b.jsonl",
            "ü.jsonl",
            "sub/c.jsonl",
            "sub/deep/d.jsonl",
            ".dot/e.jsonl",
            "dir.jsonl/in.jsonl",
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        symlink("a.jsonl", root.path().join("link.jsonl")).unwrap();
        symlink("sub", root.path().join("linkdir")).unwrap();
        symlink("..", root.path().join("sub/up")).unwrap();
        root
    }

    #[test]
    fn patterns_select_files() {
        let root = tree();
        for (pattern, expected) in [
            ("*.jsonl", "[x].jsonl|a b.jsonl|a.jsonl|ab.jsonl|ü.jsonl"),
            (
                "**/*.jsonl",
                "[x].jsonl|a b.jsonl|a.jsonl|ab.jsonl|dir.jsonl/in.jsonl|sub/c.jsonl|sub/deep/d.jsonl|ü.jsonl",
            ),
            ("*/*.jsonl", "dir.jsonl/in.jsonl|sub/c.jsonl"),
            ("sub/**", "sub/c.jsonl|sub/deep/d.jsonl"),
            ("**/deep/**", "sub/deep/d.jsonl"),
            (
                "*",
                "B.JSONL|[x].jsonl|a b.jsonl|a.jsonl|ab.jsonl|x.txt|ü.jsonl",
            ),
            ("?.jsonl", "a.jsonl"),
            ("?b.jsonl", "ab.jsonl"),
            ("[!b-z].jsonl", "a.jsonl"),
            ("!*.jsonl", "B.JSONL|x.txt"),
            ("\\[x\\].jsonl", "[x].jsonl"),
            ("{a,B}.{jsonl,JSONL}", "B.JSONL|a.jsonl"),
            ("./a.jsonl", "a.jsonl"),
            ("a.jsonl", "a.jsonl"),
            ("A.jsonl", ""),
            (".*", ""),
            (".dot/*", ""),
            ("link*", ""),
            ("linkdir/*", ""),
            ("", ""),
            ("[", ""),
            ("{a", ""),
        ] {
            let mut found = list_files(root.path(), pattern).unwrap();
            found.sort();
            assert_eq!(found.join("|"), expected, "{pattern}");
        }
        let mut all = list_files(root.path(), "**").unwrap();
        all.sort();
        assert_eq!(all, {
            let mut all = list_files(root.path(), "**/*").unwrap();
            all.sort();
            all
        });
    }

    #[test]
    fn what_is_no_directory_has_no_files() {
        let root = tree();
        for dir in ["missing", "a.jsonl", "a.jsonl/below"] {
            let found = list_files(&root.path().join(dir), "*").unwrap();
            assert_eq!(found, Vec::<String>::new());
        }
        let linked = list_files(&root.path().join("linkdir"), "*").unwrap();
        assert_eq!(linked, ["c.jsonl"], "the directory itself may be a link");
    }
}
