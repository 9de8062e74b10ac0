//! Base directories: where the agent keeps sessions, blobs, breadcrumbs and history.
//!
//! ```text
//! <config root>             ~/.xcsh          (PI_CONFIG_DIR changes ".xcsh")
//! └─ agent/                 agent directory  (PI_CODING_AGENT_DIR overrides it completely)
//!    ├─ sessions/           data
//!    ├─ blobs/              data
//!    ├─ history.db          data
//!    └─ terminal-sessions/  state
//! ```
//!
//! On Linux and macOS, and only while the agent directory is the default one, an existing
//! `$XDG_DATA_HOME/xcsh` takes the place of the agent directory for data, and an existing
//! `$XDG_STATE_HOME/xcsh` for state.

use std::path::{Path, PathBuf};

use super::lexical::{absolute, join, normalize};
use crate::Result;

/// Name of the configuration directory below home, unless the environment says otherwise.
const DEFAULT_CONFIG_DIR: &str = ".xcsh";
/// Name of our directory below the XDG base directories.
const XDG_NAME: &str = "xcsh";

/// What the outside world says, read by the caller at the moment of the call. Empty variables count
/// as unset.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The process's working directory; `None` when it cannot be determined.
    pub working_directory: Option<PathBuf>,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory for temporary files.
    pub temp: PathBuf,
    /// `PI_CONFIG_DIR`: name of the config root below home.
    pub config_dir: Option<String>,
    /// `PI_CODING_AGENT_DIR`: the agent directory, instead of `<config root>/agent`.
    pub agent_dir: Option<String>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<String>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<String>,
    /// Variables that terminals set to tell their windows apart.
    pub terminal: TerminalVariables,
}

/// Window or pane ids of terminals, used to find a terminal's breadcrumb when standard input is no
/// terminal.
#[derive(Debug, Clone, Default)]
pub struct TerminalVariables {
    /// `KITTY_WINDOW_ID`.
    pub kitty_window_id: Option<String>,
    /// `TMUX_PANE`.
    pub tmux_pane: Option<String>,
    /// `TERM_SESSION_ID` (macOS terminals).
    pub term_session_id: Option<String>,
    /// `WT_SESSION` (Windows Terminal).
    pub wt_session: Option<String>,
}

/// Something that lives in the agent directory or in its XDG replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Root of the per-project session directories.
    Sessions,
    /// Content-addressed blobs.
    Blobs,
    /// Breadcrumbs, one per terminal.
    TerminalSessions,
    /// The prompt history database.
    HistoryDb,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Blobs => "blobs",
            Self::TerminalSessions => "terminal-sessions",
            Self::HistoryDb => "history.db",
        }
    }

    fn xdg_base(self, environment: &Environment) -> Option<&str> {
        set(match self {
            Self::TerminalSessions => &environment.xdg_state_home,
            Self::Sessions | Self::Blobs | Self::HistoryDb => &environment.xdg_data_home,
        })
    }
}

/// The variable's value, unless it is unset or empty.
pub(super) fn set(variable: &Option<String>) -> Option<&str> {
    variable.as_deref().filter(|value| !value.is_empty())
}

impl Environment {
    /// Makes a path absolute and tidy. Fails only for relative paths without working directory.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf> {
        absolute(path.as_ref(), self.working_directory.as_deref())
    }

    /// The directory that holds configuration and, by default, the agent directory.
    pub fn config_root(&self) -> PathBuf {
        join(
            &self.home,
            set(&self.config_dir).unwrap_or(DEFAULT_CONFIG_DIR),
        )
    }

    /// The agent directory. Fails only for a relative override without working directory.
    pub fn agent_dir(&self) -> Result<PathBuf> {
        match set(&self.agent_dir) {
            Some(dir) => self.resolve(dir),
            None => Ok(self.default_agent_dir()),
        }
    }

    fn default_agent_dir(&self) -> PathBuf {
        join(&self.config_root(), "agent")
    }

    /// Where `place` is. Without `agent_dir`, if it is empty or if it spells the current agent directory, the rules
    /// of the module documentation apply; any other directory is joined as it is given, without
    /// making it absolute.
    pub fn place(&self, place: Place, agent_dir: Option<&str>) -> Result<PathBuf> {
        let current = self.agent_dir()?;
        match agent_dir {
            Some(explicit)
                if !explicit.is_empty()
                    && Path::new(explicit).as_os_str() != current.as_os_str() =>
            {
                Ok(join(Path::new(explicit), place.name()))
            }
            _ => Ok(self
                .xdg_dir(place, &current)
                .unwrap_or(current)
                .join(place.name())),
        }
    }

    /// The sessions directories to search for all sessions: the one that new sessions are created
    /// in, and the plain one below the agent directory when that is another.
    pub fn session_roots(&self) -> Result<Vec<PathBuf>> {
        let mut roots = vec![self.place(Place::Sessions, None)?];
        let plain = self.agent_dir()?.join(Place::Sessions.name());
        if !roots.contains(&plain) {
            roots.push(plain);
        }
        Ok(roots)
    }

    fn xdg_dir(&self, place: Place, agent_dir: &Path) -> Option<PathBuf> {
        let supported = cfg!(any(target_os = "linux", target_os = "macos"));
        if !supported || agent_dir != self.default_agent_dir() {
            return None;
        }
        let dir = normalize(&Path::new(place.xdg_base(self)?).join(XDG_NAME));
        dir.is_dir().then_some(dir)
    }
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod tests {
    use super::*;
    use std::fs;

    fn environment() -> Environment {
        Environment {
            working_directory: Some("/w".into()),
            home: "/home/u".into(),
            temp: "/tmp".into(),
            ..Environment::default()
        }
    }

    fn text(path: PathBuf) -> String {
        path.to_string_lossy().into_owned()
    }

    fn sessions(environment: &Environment, agent_dir: Option<&str>) -> String {
        text(environment.place(Place::Sessions, agent_dir).unwrap())
    }

    #[test]
    fn defaults_live_below_home() {
        let environment = environment();
        assert_eq!(
            text(environment.agent_dir().unwrap()),
            "/home/u/.xcsh/agent"
        );
        for (place, expected) in [
            (Place::Sessions, "/home/u/.xcsh/agent/sessions"),
            (Place::Blobs, "/home/u/.xcsh/agent/blobs"),
            (
                Place::TerminalSessions,
                "/home/u/.xcsh/agent/terminal-sessions",
            ),
            (Place::HistoryDb, "/home/u/.xcsh/agent/history.db"),
        ] {
            assert_eq!(text(environment.place(place, None).unwrap()), expected);
        }
    }

    #[test]
    fn the_config_directory_can_be_renamed() {
        let mut environment = environment();
        for (value, expected) in [
            (".other", "/home/u/.other/agent"),
            ("", "/home/u/.xcsh/agent"),
            ("/abs", "/home/u/abs/agent"),
            ("../v", "/home/v/agent"),
        ] {
            environment.config_dir = Some(value.into());
            assert_eq!(text(environment.agent_dir().unwrap()), expected, "{value}");
        }
    }

    #[test]
    fn the_agent_directory_can_be_overridden() {
        let mut environment = environment();
        for (value, expected) in [
            ("/a/b/", "/a/b"),
            ("rel", "/w/rel"),
            ("", "/home/u/.xcsh/agent"),
        ] {
            environment.agent_dir = Some(value.into());
            assert_eq!(text(environment.agent_dir().unwrap()), expected, "{value}");
        }
        environment.agent_dir = Some("rel".into());
        environment.working_directory = None;
        assert_eq!(environment.agent_dir().unwrap_err().code(), "ENOENT");
    }

    #[test]
    fn explicit_agent_directories_are_joined_as_given() {
        let environment = environment();
        assert_eq!(sessions(&environment, Some("rel")), "rel/sessions");
        assert_eq!(sessions(&environment, Some("/x/../y")), "/y/sessions");
        assert_eq!(
            sessions(&environment, Some("")),
            "/home/u/.xcsh/agent/sessions"
        );
    }

    #[test]
    fn xdg_applies_only_to_the_default_agent_directory() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        fs::create_dir_all(data.join("xcsh")).unwrap();
        let mut environment = environment();
        environment.xdg_data_home = Some(text(data.clone()));
        let redirected = text(data.join("xcsh/sessions"));

        assert_eq!(sessions(&environment, None), redirected);
        let default = "/home/u/.xcsh/agent";
        assert_eq!(sessions(&environment, Some(default)), redirected);
        // Not string-equal, so taken as somebody else's directory.
        assert_eq!(
            sessions(&environment, Some("/home/u/.xcsh/agent/")),
            "/home/u/.xcsh/agent/sessions"
        );
        let state = environment.place(Place::TerminalSessions, None).unwrap();
        assert_eq!(text(state), "/home/u/.xcsh/agent/terminal-sessions");

        environment.agent_dir = Some(default.into());
        assert_eq!(sessions(&environment, None), redirected);
        environment.agent_dir = Some("/elsewhere".into());
        assert_eq!(sessions(&environment, None), "/elsewhere/sessions");
    }

    #[test]
    fn xdg_needs_an_existing_directory() {
        let root = tempfile::tempdir().unwrap();
        let mut environment = environment();
        environment.xdg_state_home = Some(text(root.path().to_path_buf()));
        let state = |environment: &Environment| {
            text(environment.place(Place::TerminalSessions, None).unwrap())
        };
        assert_eq!(state(&environment), "/home/u/.xcsh/agent/terminal-sessions");
        fs::write(root.path().join("xcsh"), "a file").unwrap();
        assert_eq!(state(&environment), "/home/u/.xcsh/agent/terminal-sessions");
        fs::remove_file(root.path().join("xcsh")).unwrap();
        fs::create_dir(root.path().join("xcsh")).unwrap();
        assert_eq!(
            state(&environment),
            text(root.path().join("xcsh/terminal-sessions"))
        );
    }

    #[test]
    fn all_sessions_are_searched_in_both_roots() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("xcsh")).unwrap();
        let mut environment = environment();
        assert_eq!(environment.session_roots().unwrap().len(), 1);
        environment.xdg_data_home = Some(text(root.path().to_path_buf()));
        assert_eq!(
            environment.session_roots().unwrap(),
            [
                root.path().join("xcsh/sessions"),
                PathBuf::from("/home/u/.xcsh/agent/sessions")
            ]
        );
    }
}
