//! Breadcrumbs: which session a terminal worked on last, so that "continue" picks the session of
//! *this* terminal.
//!
//! A breadcrumb is the file `<terminal-sessions>/<terminal id>` with two lines, the working
//! directory and the path of the session file; further lines are ignored. Without a terminal id
//! nothing is written or read.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::dirs::{Environment, Place, TerminalVariables, set};
use super::files::open_regular;
use crate::Result;
use crate::error::IoContext;
use crate::storage::disk::{Disk, OsDisk};
use crate::text::js_trim;

/// Breadcrumbs are two paths; anything longer is not one.
const LONGEST_BREADCRUMB: u64 = 64 * 1024;

/// Identifies the terminal: the device of standard input if that is a terminal (`/dev/pts/3` gives
/// `pts-3`), else the first window id that the environment offers, else nothing.
pub fn terminal_id(variables: &TerminalVariables) -> Option<String> {
    terminal_device()
        .as_deref()
        .and_then(id_of_device)
        .or_else(|| id_of_variables(variables))
}

fn id_of_device(device: &str) -> Option<String> {
    let name = device
        .strip_prefix("/dev/")
        .filter(|rest| !rest.is_empty())?;
    Some(name.replace('/', "-"))
}

/// Values become part of a file name, so separators in them are replaced.
fn id_of_variables(variables: &TerminalVariables) -> Option<String> {
    [
        ("kitty", &variables.kitty_window_id),
        ("tmux", &variables.tmux_pane),
        ("apple", &variables.term_session_id),
        ("wt", &variables.wt_session),
    ]
    .into_iter()
    .find_map(|(kind, variable)| Some((kind, set(variable)?)))
    .map(|(kind, value)| format!("{kind}-{}", value.replace(is_name_separator, "-")))
}

/// Separators of paths, and on Windows also the mark of alternate streams.
fn is_name_separator(character: char) -> bool {
    std::path::is_separator(character) || (cfg!(windows) && character == ':')
}

#[cfg(unix)]
fn terminal_device() -> Option<String> {
    use rustix::stdio::stdin;
    use rustix::termios::{isatty, ttyname};

    if !isatty(stdin()) {
        return None;
    }
    if cfg!(target_os = "linux") {
        let device = std::fs::read_link("/proc/self/fd/0").ok()?;
        return Some(device.to_string_lossy().into_owned());
    }
    let device = ttyname(stdin(), Vec::new()).ok()?;
    Some(device.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn terminal_device() -> Option<String> {
    None
}

/// The breadcrumb file of a terminal, or `None` when there is no terminal id.
pub fn breadcrumb_path(environment: &Environment) -> Result<Option<PathBuf>> {
    let Some(id) = terminal_id(&environment.terminal) else {
        return Ok(None);
    };
    let dir = environment.place(Place::TerminalSessions, None)?;
    Ok(Some(dir.join(id)))
}

/// Writes a breadcrumb. The old one is replaced as a whole, so that another process of the same
/// terminal never reads half of it.
pub fn write(breadcrumb: &Path, cwd: &str, session_file: &str) -> Result<()> {
    let dir = breadcrumb.parent().unwrap_or(breadcrumb);
    OsDisk.create_dirs(dir)?;
    let mut temp = tempfile::Builder::new()
        .prefix(".")
        .suffix(".tmp")
        .tempfile_in(dir)
        .during("open", dir)?;
    writeln!(temp, "{cwd}\n{session_file}").during("write", breadcrumb)?;
    temp.persist(breadcrumb)
        .map_err(|failure| failure.error)
        .during("rename", breadcrumb)?;
    Ok(())
}

/// The session file of a breadcrumb, as it is written there, if it was left in `cwd` and the file
/// still exists. A missing breadcrumb is no error.
pub fn read(environment: &Environment, breadcrumb: &Path, cwd: &str) -> Result<Option<String>> {
    let text = match read_text(breadcrumb) {
        Err(error) if error.is_not_found() => return Ok(None),
        outcome => outcome?,
    };
    let mut lines = js_trim(&text).split('\n');
    let (Some(left_in), Some(session_file)) = (lines.next(), lines.next()) else {
        return Ok(None);
    };
    let matches = match (environment.resolve(left_in), environment.resolve(cwd)) {
        (Ok(left_in), Ok(cwd)) => left_in == cwd,
        _ => false,
    };
    let exists = || {
        let path = environment.resolve(session_file);
        path.is_ok_and(|path| path.is_file())
    };
    Ok((matches && exists()).then(|| session_file.to_owned()))
}

fn read_text(breadcrumb: &Path) -> Result<String> {
    let file = open_regular(breadcrumb)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_BREADCRUMB)
        .read_to_end(&mut bytes)
        .during("read", breadcrumb)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn devices_below_dev_name_the_terminal() {
        let cases = [
            ("/dev/pts/3", Some("pts-3")),
            ("/dev/tty1", Some("tty1")),
            ("/dev/", None),
            ("/weird/pts/3", None),
            ("pipe:[1]", None),
        ];
        for (device, expected) in cases {
            assert_eq!(id_of_device(device).as_deref(), expected, "{device}");
        }
    }

    #[test]
    fn the_first_variable_that_is_set_names_the_terminal() {
        let mut variables = TerminalVariables {
            wt_session: Some("w".into()),
            ..TerminalVariables::default()
        };
        let id = |variables: &TerminalVariables| id_of_variables(variables).unwrap();
        assert_eq!(id(&variables), "wt-w");
        variables.term_session_id = Some("w0t0p0:AB/../C".into());
        assert_eq!(id(&variables), "apple-w0t0p0:AB-..-C");
        variables.tmux_pane = Some("%3".into());
        assert_eq!(id(&variables), "tmux-%3");
        variables.kitty_window_id = Some(String::new());
        assert_eq!(id(&variables), "tmux-%3");
        variables.kitty_window_id = Some("12".into());
        assert_eq!(id(&variables), "kitty-12");
        assert_eq!(id_of_variables(&TerminalVariables::default()), None);
    }

    struct Fixture {
        root: tempfile::TempDir,
        environment: Environment,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let environment = Environment {
                working_directory: Some(root.path().to_path_buf()),
                ..Environment::default()
            };
            Self { root, environment }
        }

        fn crumb(&self) -> PathBuf {
            self.root.path().join("deep/crumbs/pts-1")
        }

        fn session(&self, name: &str) -> String {
            let path = self.root.path().join(name);
            fs::write(&path, "").unwrap();
            path.to_string_lossy().into_owned()
        }

        fn put(&self, content: &str) {
            fs::create_dir_all(self.crumb().parent().unwrap()).unwrap();
            fs::write(self.crumb(), content).unwrap();
        }

        fn read(&self, cwd: &str) -> Option<String> {
            read(&self.environment, &self.crumb(), cwd).unwrap()
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fixture = Fixture::new();
        let session = fixture.session("with space.jsonl");
        write(&fixture.crumb(), "/w/p", "/old").unwrap();
        write(&fixture.crumb(), "/w/p", &session).unwrap();
        assert_eq!(
            fs::read_to_string(fixture.crumb()).unwrap(),
            format!("/w/p\n{session}\n")
        );
        assert_eq!(fixture.read("/w/p"), Some(session.clone()));
        assert_eq!(fixture.read("/w/x/../p/"), Some(session));
        assert_eq!(fixture.read("/w"), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&fixture.crumb()), 0o600);
        assert_eq!(mode(fixture.crumb().parent().unwrap()), 0o700);
        let left = fs::read_dir(fixture.crumb().parent().unwrap())
            .unwrap()
            .count();
        assert_eq!(left, 1, "no temporary file stays");
    }

    #[test]
    fn only_whole_breadcrumbs_of_existing_files_count() {
        let fixture = Fixture::new();
        assert_eq!(fixture.read("/w/p"), None, "no breadcrumb");
        let session = fixture.session("s.jsonl");
        let link = fixture.root.path().join("link.jsonl");
        symlink(&session, &link).unwrap();
        let link = link.to_string_lossy().into_owned();
        let dir = fixture.root.path().to_string_lossy().into_owned();
        let cases = [
            (format!("/w/p\n{session}\n"), Some(&session)),
            (format!("/w/p\n{session}\nfresh\n"), Some(&session)),
            (format!("\n /w/p\n{session}  "), Some(&session)),
            (format!("/w/p\n{link}\n"), Some(&link)),
            (format!("/w/p\r\n{session}\r\n"), None),
            (format!("/w/q\n{session}\n"), None),
            (format!("/w/p\n{session}.gone\n"), None),
            (format!("/w/p\n{dir}\n"), None),
            ("/w/p\n".to_owned(), None),
            (String::new(), None),
        ];
        for (content, expected) in cases {
            fixture.put(&content);
            assert_eq!(fixture.read("/w/p").as_ref(), expected, "{content:?}");
        }
    }

    #[test]
    fn relative_lines_are_resolved() {
        let fixture = Fixture::new();
        fixture.session("s.jsonl");
        fixture.put("p\ns.jsonl\n");
        let cwd = fixture.root.path().join("p");
        assert_eq!(
            fixture.read(&cwd.to_string_lossy()),
            Some("s.jsonl".to_owned())
        );
    }

    #[test]
    fn a_breadcrumb_that_cannot_be_read_is_an_error() {
        let fixture = Fixture::new();
        fs::create_dir_all(fixture.crumb()).unwrap();
        assert!(read(&fixture.environment, &fixture.crumb(), "/w/p").is_err());
    }

    #[test]
    fn the_path_follows_the_agent_directory() {
        let environment = Environment {
            home: "/home/u".into(),
            terminal: TerminalVariables {
                tmux_pane: Some("%1".into()),
                ..TerminalVariables::default()
            },
            ..Environment::default()
        };
        // Under a real terminal the device names the file.
        let path = breadcrumb_path(&environment).unwrap().unwrap();
        assert!(path.starts_with("/home/u/.xcsh/agent/terminal-sessions"));
    }
}
