//! The session directory of a project, and which sessions in it are the project's own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::dirs::{Environment, Place};
use super::encode::{NamingRoots, legacy_folder_name, same_directory};
use super::legacy::Migration;
use super::lexical::normalize;
use super::recent::header_cwd;
use crate::storage::disk::Disk;
use crate::{Error, Result};

/// A session directory, ready for use.
#[derive(Debug)]
pub struct SessionDir {
    /// Its path.
    pub path: PathBuf,
    /// Sessions with earlier directory names that could not be moved.
    pub failures: Vec<Error>,
}

/// The directory for the sessions of `cwd` below the sessions directory of `agent_dir` (see
/// [`Environment::place`]). Moves sessions from directories with earlier names there; does not
/// create it.
pub fn default_session_dir(
    environment: &Environment,
    disk: &dyn Disk,
    cwd: &str,
    agent_dir: Option<&str>,
) -> Result<SessionDir> {
    let root = environment.place(Place::Sessions, agent_dir)?;
    session_dir_below(environment, disk, &root, cwd)
}

/// The directory that a session moves to when its project moves from `old_cwd` to `new_cwd`: beside
/// `session_dir` if that is named after the old project, else the default one. Otherwise like
/// [`default_session_dir`].
pub fn move_target(
    environment: &Environment,
    disk: &dyn Disk,
    session_dir: &str,
    old_cwd: &str,
    new_cwd: &str,
) -> Result<SessionDir> {
    let session_dir = environment.resolve(session_dir)?;
    let old_cwd = environment.resolve(old_cwd)?;
    let name = session_dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let is_named_after_project = name == NamingRoots::new(environment).folder_name(&old_cwd)
        || name == legacy_folder_name(&old_cwd);
    match session_dir.parent().filter(|_| is_named_after_project) {
        Some(root) => session_dir_below(environment, disk, root, new_cwd),
        None => default_session_dir(environment, disk, new_cwd, None),
    }
}

fn session_dir_below(
    environment: &Environment,
    disk: &dyn Disk,
    root: &Path,
    cwd: &str,
) -> Result<SessionDir> {
    let cwd = environment.resolve(cwd)?;
    let home = environment.resolve(&environment.home)?;
    let roots = NamingRoots::new(environment);
    let name = roots.folder_name(&cwd);
    let migration = Migration {
        disk,
        roots: &roots,
        header_cwd: &header_cwd,
    };
    let mut failures = migration.project(root, &cwd, &name);
    failures.extend(migration.home(root, &home, Some(&cwd)));
    Ok(SessionDir {
        path: root.join(name),
        failures,
    })
}

/// A project whose session directory may hold sessions of another project with the same directory
/// name. They are told apart by the working directory in the header.
pub struct Project {
    cwd: PathBuf,
    folder: String,
    roots: NamingRoots,
    verdicts: RefCell<HashMap<String, bool>>,
}

impl Project {
    /// The project at `cwd`, if `session_dir` is named after it. Any other directory was chosen by
    /// the user, who may keep sessions of any project there.
    pub fn of(environment: &Environment, cwd: &str, session_dir: &str) -> Result<Option<Self>> {
        let cwd = environment.resolve(cwd)?;
        let dir = environment.resolve(session_dir)?;
        let roots = NamingRoots::new(environment);
        let folder = roots.folder_name(&cwd);
        let is_its_own = dir.file_name().is_some_and(|name| name == folder.as_str());
        Ok(is_its_own.then(|| Self {
            cwd,
            folder,
            roots,
            verdicts: RefCell::default(),
        }))
    }

    /// False for a session whose header names another directory with the same directory name.
    /// Sessions without working directory belong to the project, and so do those of other
    /// directories: their project has moved here.
    pub fn owns(&self, header_cwd: Option<&str>) -> bool {
        let Some(cwd) = header_cwd.filter(|cwd| Path::new(cwd).is_absolute()) else {
            return true;
        };
        if let Some(&known) = self.verdicts.borrow().get(cwd) {
            return known;
        }
        let verdict = self.owns_directory(&normalize(Path::new(cwd)));
        self.verdicts.borrow_mut().insert(cwd.to_owned(), verdict);
        verdict
    }

    fn owns_directory(&self, cwd: &Path) -> bool {
        same_directory(cwd, &self.cwd) || self.roots.folder_name(cwd) != self.folder
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::storage::disk::OsDisk;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct World {
        root: tempfile::TempDir,
        environment: Environment,
    }

    impl World {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().canonicalize().unwrap();
            for dir in ["home/p", "home-x", "agent"] {
                fs::create_dir_all(path.join(dir)).unwrap();
            }
            let environment = Environment {
                working_directory: Some(path.clone()),
                home: path.join("home"),
                temp: "/nowhere/t".into(),
                agent_dir: Some(path.join("agent").to_string_lossy().into_owned()),
                ..Environment::default()
            };
            Self { root, environment }
        }

        fn path(&self, rest: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(rest)
        }

        fn text(&self, rest: &str) -> String {
            self.path(rest).to_string_lossy().into_owned()
        }

        fn put_session(&self, file: &Path, cwd: &str) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let cwd = self.text(cwd);
            fs::write(
                file,
                format!("{{\"type\":\"session\",\"id\":\"x\",\"cwd\":\"{cwd}\"}}\n"),
            )
            .unwrap();
        }
    }

    #[test]
    fn the_default_directory_takes_earlier_sessions_in() {
        let world = World::new();
        let legacy = world
            .path("agent/sessions")
            .join(legacy_folder_name(&world.path("home/p")));
        world.put_session(&legacy.join("s.jsonl"), "home/p");
        // Shares the beginning of its name with home.
        let sibling = world
            .path("agent/sessions")
            .join(legacy_folder_name(&world.path("home-x")));
        world.put_session(&sibling.join("s.jsonl"), "home-x");
        let dir = default_session_dir(&world.environment, &OsDisk, "home/p", None).unwrap();
        assert_eq!(dir.path, world.path("agent/sessions/-p"));
        assert!(dir.failures.is_empty());
        assert!(dir.path.join("s.jsonl").exists() && !legacy.exists());
        assert!(sibling.join("s.jsonl").exists());
    }

    #[test]
    fn an_explicit_agent_directory_is_used() {
        let world = World::new();
        let other = world.text("other");
        let dir = default_session_dir(&world.environment, &OsDisk, "/", Some(&other)).unwrap();
        assert_eq!(dir.path, world.path("other/sessions/----"));
    }

    #[test]
    fn moving_stays_beside_a_directory_named_after_the_project() {
        let world = World::new();
        let (old, new) = (world.text("home/p"), world.text("home/new"));
        let legacy = legacy_folder_name(Path::new(&old));
        let cases = [
            (world.text("custom/-p"), world.path("custom/-new")),
            (
                world.text(&format!("custom/{legacy}")),
                world.path("custom/-new"),
            ),
            (
                world.text("custom/-other"),
                world.path("agent/sessions/-new"),
            ),
            (world.text("custom"), world.path("agent/sessions/-new")),
            ("/".to_owned(), world.path("agent/sessions/-new")),
        ];
        for (dir, expected) in cases {
            let target = move_target(&world.environment, &OsDisk, &dir, &old, &new).unwrap();
            assert_eq!(target.path, expected, "{dir}");
        }
    }

    #[test]
    fn a_project_reached_through_a_link_is_the_same() {
        let world = World::new();
        symlink(world.path("home/p"), world.path("link")).unwrap();
        let (plain, link) = (world.text("home/p"), world.text("link"));
        let dir = world.text("agent/sessions/-p");
        let project = Project::of(&world.environment, &plain, &dir)
            .unwrap()
            .unwrap();
        assert!(project.owns(Some(&link)) && project.owns(Some(&plain)));
        let project = Project::of(&world.environment, &link, &dir)
            .unwrap()
            .unwrap();
        assert!(project.owns(Some(&plain)) && project.owns(None));
        assert!(
            Project::of(&world.environment, &link, "/elsewhere")
                .unwrap()
                .is_none()
        );
    }
}
