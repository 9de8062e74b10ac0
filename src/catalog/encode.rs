//! Names of per-project session directories.
//!
//! | working directory (links resolved), tested in this order | name |
//! |---|---|
//! | home | `-` |
//! | below home | `-` + relative path |
//! | the directory for temporary files | `-tmp` |
//! | below it | `-tmp-` + relative path |
//! | otherwise | `--` + absolute path without its first separator + `--` |
//!
//! `/`, `\` and `:` in the path become `-`, all other characters stay. Different directories can
//! therefore share a name (`/usr/a-b` and `/usr/a/b`); readers tell their sessions apart by the
//! working directory in the session's header. Earlier versions named every directory by its
//! absolute path, see [`legacy_folder_name`].
//!
//! Names that would not fit into a directory entry are cut at a character and completed with a hash
//! of the whole name.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::dirs::Environment;
use super::lexical::{below, canonical, same};

/// The longest file name that common file systems accept, in bytes.
const LONGEST_NAME: usize = 255;
/// Bytes of the hash that stand for what was cut off; written as twice as many hex digits.
const HASH_BYTES: usize = 8;

/// Home and temporary directory, with links resolved: what names can be relative to.
#[derive(Debug, Clone)]
pub struct NamingRoots {
    home: std::path::PathBuf,
    temp: std::path::PathBuf,
}

impl NamingRoots {
    /// Resolves the links of both directories; those that do not exist are taken as they are.
    pub fn new(environment: &Environment) -> Self {
        let resolve = |path: &Path| {
            let absolute = environment.resolve(path);
            canonical(absolute.as_deref().unwrap_or(path))
        };
        Self {
            home: resolve(&environment.home),
            temp: resolve(&environment.temp),
        }
    }

    /// Name of the session directory of a working directory, which must be absolute. Resolves links
    /// on disk; a directory that does not exist is taken as it is written.
    pub fn folder_name(&self, cwd: &Path) -> String {
        let cwd = canonical(cwd);
        let name = if let Some(rest) = below(&self.home, &cwd) {
            relative_name("-", &rest)
        } else if let Some(rest) = below(&self.temp, &cwd) {
            if rest.as_os_str().is_empty() {
                "-tmp".to_owned()
            } else {
                relative_name("-tmp-", &rest)
            }
        } else {
            absolute_name(&cwd)
        };
        shorten(name)
    }
}

/// The name that earlier versions used for every working directory: the absolute path, links not
/// resolved.
pub fn legacy_folder_name(cwd: &Path) -> String {
    shorten(absolute_name(cwd))
}

/// True when both paths lead to the same directory, however they are spelled. Both must be absolute.
pub fn same_directory(left: &Path, right: &Path) -> bool {
    same(left, right) || same(&canonical(left), &canonical(right))
}

fn relative_name(prefix: &str, rest: &Path) -> String {
    format!("{prefix}{}", encode(&rest.to_string_lossy()))
}

fn absolute_name(path: &Path) -> String {
    format!("--{}--", encode_absolute(path))
}

/// An absolute path without its first separator, as it appears inside names.
pub(super) fn encode_absolute(path: &Path) -> String {
    let text = path.to_string_lossy();
    encode(text.strip_prefix(['/', '\\']).unwrap_or(&text))
}

fn encode(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

fn shorten(name: String) -> String {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let digest = Sha256::digest(name.as_bytes());
    let hash = digest
        .iter()
        .take(HASH_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let room = LONGEST_NAME - hash.len() - 1;
    let cut = (0..=room)
        .rev()
        .find(|&at| name.is_char_boundary(at))
        .unwrap_or(0);
    format!("{}-{hash}", name.get(..cut).unwrap_or_default())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn roots() -> NamingRoots {
        NamingRoots::new(&Environment {
            home: "/nowhere/u".into(),
            temp: "/nowhere/t".into(),
            ..Environment::default()
        })
    }

    fn name(cwd: &str) -> String {
        roots().folder_name(Path::new(cwd))
    }

    #[test]
    fn names_by_place() {
        let cases = [
            ("/nowhere/u", "-"),
            ("/nowhere/u/p", "-p"),
            ("/nowhere/u/a/b", "-a-b"),
            ("/nowhere/u/..x", "-..x"),
            ("/nowhere/u-x", "--nowhere-u-x--"),
            ("/nowhere/t", "-tmp"),
            ("/nowhere/t/a/b", "-tmp-a-b"),
            ("/nowhere/t2/a", "--nowhere-t2-a--"),
            ("/srv/a:b\\c", "--srv-a-b-c--"),
            ("/", "----"),
        ];
        for (cwd, expected) in cases {
            assert_eq!(name(cwd), expected, "{cwd}");
        }
    }

    #[test]
    fn characters_outside_ascii_stay() {
        let cases = [
            ("/srv/新聞", "--srv-新聞--"),
            ("/srv/暫存", "--srv-暫存--"),
            ("/srv/项目 🎉", "--srv-项目 🎉--"),
            ("/srv/a%b.", "--srv-a%b.--"),
            ("/srv/~", "--srv-~--"),
            ("/srv/a\nb", "--srv-a\nb--"),
            ("/srv/ド", "--srv-ド--"),
            ("/srv/ト\u{3099}", "--srv-ト\u{3099}--"),
        ];
        for (cwd, expected) in cases {
            assert_eq!(name(cwd), expected, "{cwd}");
        }
    }

    #[test]
    fn links_are_resolved_for_new_names_and_kept_in_legacy_ones() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/p")).unwrap();
        symlink(root.join("home/p"), root.join("link")).unwrap();
        symlink(root.join("home"), root.join("home-link")).unwrap();
        let roots = NamingRoots::new(&Environment {
            home: root.join("home-link"),
            temp: "/nowhere/t".into(),
            ..Environment::default()
        });
        assert_eq!(roots.folder_name(&root.join("link")), "-p");
        assert_eq!(roots.folder_name(&root.join("home-link/p")), "-p");
        assert_eq!(roots.folder_name(&root.join("home")), "-");
        // What does not exist cannot be resolved.
        assert_eq!(
            roots.folder_name(&root.join("link/new")),
            legacy_folder_name(&root.join("link/new"))
        );
        assert!(legacy_folder_name(&root.join("link")).ends_with("-link--"));
        assert!(same_directory(&root.join("link"), &root.join("home/p")));
        assert!(!same_directory(&root.join("link"), &root.join("home")));
    }

    #[test]
    fn home_wins_over_temp() {
        let roots = NamingRoots::new(&Environment {
            home: "/nowhere/t/u".into(),
            temp: "/nowhere/t".into(),
            ..Environment::default()
        });
        assert_eq!(roots.folder_name(Path::new("/nowhere/t/u/p")), "-p");
        assert_eq!(roots.folder_name(Path::new("/nowhere/t/p")), "-tmp-p");
    }

    #[test]
    fn long_names_fit_and_stay_different() {
        let deep = |last: &str| PathBuf::from(format!("/srv/{}/{last}", "目录/".repeat(60)));
        let (one, two) = (
            roots().folder_name(&deep("a")),
            roots().folder_name(&deep("b")),
        );
        assert!(one.len() <= LONGEST_NAME && one.len() > LONGEST_NAME - 4);
        assert!(one.starts_with("--srv-目录-目录-"));
        assert_ne!(one, two);
        assert_eq!(one, roots().folder_name(&deep("a")), "the name is stable");
        let exact = format!("/srv/{}", "x".repeat(LONGEST_NAME - "--srv---".len()));
        assert_eq!(name(&exact).len(), LONGEST_NAME);
        assert!(
            name(&exact).ends_with("x--"),
            "names that fit are not hashed"
        );
    }

    proptest! {
        #[test]
        fn every_name_is_one_usable_directory_entry(cwd in "(/[^/\0]{1,90}){1,6}") {
            let cwd = super::super::lexical::normalize(Path::new(&cwd));
            for name in [roots().folder_name(&cwd), legacy_folder_name(&cwd)] {
                prop_assert!(name.len() <= LONGEST_NAME && name.starts_with('-'));
                prop_assert!(!name.contains(['/', '\\', ':', '\0']));
            }
        }
    }
}
