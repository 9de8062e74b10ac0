use super::*;
use crate::catalog::Environment;
use crate::storage::disk::OsDisk;
use crate::storage::faulty::{Fault, FaultyDisk};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;

/// A home directory `u`, a sibling `u-x`, and a sessions root.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for dir in ["home/u/x", "home/u-x", "sessions"] {
            fs::create_dir_all(world.path(dir)).unwrap();
        }
        world
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(rest)
    }

    fn sessions(&self, rest: &str) -> PathBuf {
        self.path("sessions").join(rest)
    }

    /// The earlier directory name of a path in this world.
    fn legacy(&self, cwd: &str) -> String {
        legacy_folder_name(&self.path(cwd))
    }

    fn put(&self, file: &str, content: &str) {
        let file = self.sessions(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// A session file whose header names a directory of this world.
    fn session(&self, file: &str, cwd: &str, mark: &str) {
        let cwd = self.path(cwd);
        self.put(file, &format!("{}\n{mark}", cwd.display()));
    }

    fn roots(&self) -> NamingRoots {
        NamingRoots::new(&Environment {
            home: self.path("home/u"),
            temp: "/nowhere/t".into(),
            ..Environment::default()
        })
    }

    fn home(&self, disk: &dyn Disk) -> Vec<Error> {
        let roots = self.roots();
        let migration = Migration {
            disk,
            roots: &roots,
            header_cwd: &first_line,
        };
        migration.home(&self.path("sessions"), &self.path("home/u"), None)
    }

    fn project(&self, cwd: &str) -> Vec<Error> {
        let roots = self.roots();
        let migration = Migration {
            disk: &OsDisk,
            roots: &roots,
            header_cwd: &first_line,
        };
        let cwd = self.path(cwd);
        migration.project(&self.path("sessions"), &cwd, &roots.folder_name(&cwd))
    }

    /// Every file below the sessions root with its content.
    fn files(&self) -> BTreeMap<String, String> {
        let root = self.path("sessions");
        let mut files = BTreeMap::new();
        let mut pending = vec![root.clone()];
        while let Some(dir) = pending.pop() {
            for entry in entries(&dir).unwrap() {
                if entry.file_type().unwrap().is_dir() {
                    pending.push(entry.path());
                } else {
                    let path = entry.path();
                    let name = path.strip_prefix(&root).unwrap().to_string_lossy();
                    files.insert(name.into_owned(), fs::read_to_string(&path).unwrap());
                }
            }
        }
        files
    }

    fn names(&self) -> Vec<String> {
        self.files().into_keys().collect()
    }

    fn contents(&self) -> BTreeSet<String> {
        self.files().into_values().collect()
    }
}

/// Stands in for reading headers: the first line is the working directory.
fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?;
    line.starts_with('/').then(|| line.to_owned())
}

#[test]
fn directories_below_home_get_their_short_names() {
    let world = World::new();
    let (home, project) = (world.legacy("home/u"), world.legacy("home/u/x"));
    world.session(&format!("{home}/a.jsonl"), "home/u", "1");
    world.session(&format!("{project}/b.jsonl"), "home/u/x", "2");
    world.put(&format!("{project}/b/0.bash.log"), "artifact");
    world.put(&format!("{project}/.b.jsonl.1.tmp"), "left over");
    assert!(world.home(&OsDisk).is_empty());
    assert_eq!(
        world.names(),
        [
            "-/a.jsonl",
            "-x/.b.jsonl.1.tmp",
            "-x/b.jsonl",
            "-x/b/0.bash.log"
        ]
    );
    assert!(!world.sessions(&project).exists());
}

#[test]
fn a_sibling_of_home_keeps_its_directory() {
    let world = World::new();
    // /home/u-x and /home/u/x share this name.
    let shared = world.legacy("home/u-x");
    assert_eq!(shared, world.legacy("home/u/x"));
    world.session(&format!("{shared}/a.jsonl"), "home/u-x", "1");
    world.put(&format!("{shared}/a/0.bash.log"), "artifact");
    let before = world.files();
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.project("home/u/x").is_empty());
    assert_eq!(world.files(), before);
}

#[test]
fn a_shared_directory_is_divided() {
    let world = World::new();
    let shared = world.legacy("home/u-x");
    world.session(&format!("{shared}/ours.jsonl"), "home/u/x", "1");
    world.put(&format!("{shared}/ours/0.bash.log"), "our artifact");
    world.session(&format!("{shared}/theirs.jsonl"), "home/u-x", "2");
    world.put(&format!("{shared}/theirs/0.bash.log"), "their artifact");
    world.put(&format!("{shared}/notes.md"), "whose?");
    assert!(world.home(&OsDisk).is_empty());
    assert_eq!(
        world.names(),
        [
            format!("{shared}/notes.md"),
            format!("{shared}/theirs.jsonl"),
            format!("{shared}/theirs/0.bash.log"),
            "-x/ours.jsonl".to_owned(),
            "-x/ours/0.bash.log".to_owned(),
        ]
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
    );
}

#[test]
fn sessions_beyond_the_sample_move_with_their_project() {
    let world = World::new();
    let shared = world.legacy("home/u-x");
    world.session(&format!("{shared}/0-ours.jsonl"), "home/u/x", "ours");
    for number in 1..=SAMPLE {
        world.session(
            &format!("{shared}/{number}-theirs.jsonl"),
            "home/u-x",
            "theirs",
        );
    }
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.sessions(&format!("{shared}/0-ours.jsonl")).exists());
    assert!(world.project("home/u/x").is_empty());
    assert!(world.sessions("-x/0-ours.jsonl").exists());
    assert!(world.sessions(&format!("{shared}/1-theirs.jsonl")).exists());
}

#[test]
fn sessions_of_moved_projects_and_without_header_move_along() {
    let world = World::new();
    let project = world.legacy("home/u/x");
    world.session(&format!("{project}/moved.jsonl"), "somewhere/else", "1");
    world.put(&format!("{project}/unknown.jsonl"), "no header");
    world.put(&format!("{project}/relative.jsonl"), "x\n");
    assert!(world.home(&OsDisk).is_empty());
    assert_eq!(
        world.names(),
        ["-x/moved.jsonl", "-x/relative.jsonl", "-x/unknown.jsonl"]
    );
}

#[test]
fn directories_without_sessions_stay() {
    let world = World::new();
    let project = world.legacy("home/u/x");
    world.put(
        &format!("{project}/s/0.bash.log"),
        "of a session not yet written",
    );
    let empty = world.sessions(&world.legacy("home/u/y"));
    fs::create_dir(&empty).unwrap();
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.sessions(&project).exists() && empty.exists());
}

#[test]
fn namesakes_get_numbers_and_keep_their_artifacts() {
    let world = World::new();
    let project = world.legacy("home/u/x");
    world.session(&format!("{project}/s.jsonl"), "home/u/x", "old");
    world.put(&format!("{project}/s/0.bash.log"), "old artifact");
    world.put(&format!("{project}/notes.md"), "old notes");
    world.put(&format!("{project}/local/f"), "old local");
    world.session(&format!("{project}/only.jsonl"), "home/u/x", "only");
    world.session("-x/s.jsonl", "home/u/x", "new");
    world.put("-x/s/0.bash.log", "new artifact");
    world.put("-x/s-1/0.bash.log", "in the way of the first number");
    world.put("-x/notes.md", "new notes");
    world.put("-x/local/f", "new local");
    assert!(world.home(&OsDisk).is_empty());
    assert_eq!(
        world.names(),
        [
            "-x/local-1/f",
            "-x/local/f",
            "-x/notes-1.md",
            "-x/notes.md",
            "-x/only.jsonl",
            "-x/s-1/0.bash.log",
            "-x/s-2.jsonl",
            "-x/s-2/0.bash.log",
            "-x/s.jsonl",
            "-x/s/0.bash.log",
        ]
    );
    let files = world.files();
    assert!(files["-x/s-2.jsonl"].ends_with("old"));
    assert_eq!(files["-x/s-2/0.bash.log"], "old artifact");
    assert_eq!(files["-x/local-1/f"], "old local");
    assert!(!world.sessions(&project).exists());
}

#[test]
fn a_file_in_the_way_is_set_aside() {
    let world = World::new();
    let project = world.legacy("home/u/x");
    world.session(&format!("{project}/s.jsonl"), "home/u/x", "1");
    world.put("-x", "a file");
    world.put("-x.aside-1", "an older one");
    assert!(world.home(&OsDisk).is_empty());
    assert_eq!(world.names(), ["-x.aside-1", "-x.aside-2", "-x/s.jsonl"]);
    assert_eq!(world.files()["-x.aside-2"], "a file");
}

#[test]
fn files_and_links_with_earlier_names_are_renamed_but_never_merged() {
    let world = World::new();
    let (file, link) = (world.legacy("home/u/f"), world.legacy("home/u/l"));
    world.put(&file, "a file");
    world.put("elsewhere/s.jsonl", "s");
    symlink(world.sessions("elsewhere"), world.sessions(&link)).unwrap();
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.sessions("-f").is_file());
    assert!(world.sessions("-l").is_symlink());

    world.put(&file, "another file");
    symlink(world.sessions("elsewhere"), world.sessions(&link)).unwrap();
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.sessions(&file).exists() && world.sessions(&link).is_symlink());
    assert_eq!(
        fs::read_to_string(world.sessions("elsewhere/s.jsonl")).unwrap(),
        "s"
    );
}

#[test]
fn a_project_reached_through_a_link_takes_its_sessions_along() {
    let world = World::new();
    symlink(world.path("home/u/x"), world.path("link")).unwrap();
    let legacy = world.legacy("link");
    world.session(&format!("{legacy}/s.jsonl"), "link", "1");
    assert!(world.project("link").is_empty());
    assert_eq!(world.names(), ["-x/s.jsonl"]);
}

#[test]
fn home_itself_may_be_the_root_directory() {
    let world = World::new();
    world.put("--usr-x--/s.jsonl", "s");
    world.put("----/s.jsonl", "s");
    let roots = world.roots();
    let migration = Migration {
        disk: &OsDisk,
        roots: &roots,
        header_cwd: &first_line,
    };
    assert!(
        migration
            .home(&world.path("sessions"), Path::new("/"), None)
            .is_empty()
    );
    assert_eq!(world.names(), ["----/s.jsonl", "--usr-x--/s.jsonl"]);
}

#[test]
fn a_missing_sessions_root_is_no_failure() {
    let world = World::new();
    fs::remove_dir(world.path("sessions")).unwrap();
    assert!(world.home(&OsDisk).is_empty());
    assert!(world.project("home/u/x").is_empty());
}

#[test]
fn no_failure_loses_anything_and_the_next_attempt_completes() {
    let fill = |world: &World| {
        let project = world.legacy("home/u/x");
        for (name, mark) in [("a", "1"), ("b", "2"), ("c", "3")] {
            world.session(&format!("{project}/{name}.jsonl"), "home/u/x", mark);
            world.put(&format!("{project}/{name}/f"), &format!("artifact {mark}"));
        }
        world.session("-x/b.jsonl", "home/u/x", "new");
        world.put("-x/c/f", "orphan");
        project
    };
    for fails_at in 0.. {
        let world = World::new();
        let project = fill(&world);
        let before = world.contents();
        let disk = FaultyDisk::new(fails_at, Fault::Fails);
        world.home(&disk);
        assert_eq!(world.contents(), before, "fault {fails_at}");
        world.home(&OsDisk);
        assert_eq!(world.contents(), before);
        if !disk.struck() {
            assert!(!world.sessions(&project).exists());
            assert!(fails_at > 3, "the fault must have come at several places");
            break;
        }
    }
}

#[test]
fn many_at_once_lose_nothing() {
    for round in 0..20 {
        let world = World::new();
        let project = world.legacy("home/u/x");
        for number in 0..20 {
            world.session(
                &format!("{project}/{number}.jsonl"),
                "home/u/x",
                &format!("old {number}"),
            );
            world.put(
                &format!("{project}/{number}/f"),
                &format!("artifact {number}"),
            );
            if number % 3 == 0 && round % 2 == 0 {
                world.session(
                    &format!("-x/{number}.jsonl"),
                    "home/u/x",
                    &format!("new {number}"),
                );
            }
        }
        let before = world.contents();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let failures = world.home(&OsDisk);
                    assert!(failures.is_empty(), "{failures:?}");
                });
            }
        });
        assert_eq!(world.contents(), before);
        assert!(!world.sessions(&project).exists());
        for (name, content) in world.files() {
            if let Some(number) = content.strip_prefix("artifact ") {
                let session = name.strip_suffix("/f").unwrap().to_owned() + ".jsonl";
                let session = &world.files()[&session];
                assert!(session.ends_with(&format!("old {number}")), "{name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_there_nothing_is_lost(
        old in prop::collection::btree_map("[ab](-1)?(\\.jsonl|\\.md|/f)", 0usize..3, 0..8),
        new in prop::collection::btree_map("[ab](-1)?(\\.jsonl|\\.md|/f)", 0usize..3, 0..8),
    ) {
        let world = World::new();
        let project = world.legacy("home/u/x");
        let cwds = ["home/u/x", "home/u-x", "home/u"];
        for (dir, files) in [(project.as_str(), &old), ("-x", &new)] {
            for (name, &cwd) in files {
                world.session(&format!("{dir}/{name}"), cwds[cwd], &format!("{dir} {name}"));
            }
        }
        let before = world.contents();
        prop_assert!(world.home(&OsDisk).is_empty());
        prop_assert!(world.project("home/u/x").is_empty());
        prop_assert_eq!(&world.contents(), &before);
        let settled = world.files();
        world.home(&OsDisk);
        world.project("home/u/x");
        prop_assert_eq!(world.files(), settled, "a second run changes nothing");
    }
}
