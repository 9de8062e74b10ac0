//! Breadcrumbs: which session a terminal worked on last, so that "continue" picks the session of
//! *this* terminal.
//!
//! A breadcrumb is the file `<terminal-sessions>/<terminal id>` with two lines, the working
//! directory and the path of the session file; further lines are ignored. Without a terminal id
//! nothing is written or read.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::dirs::{Environment, Place, TerminalVariables, set};
use super::encode::same_directory;
use super::text::js_trim;
use crate::error::IoContext;
use crate::storage::{create_private_dirs, open_regular};
use crate::Result;

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
    let name = device.strip_prefix("/dev/").filter(|rest| !rest.is_empty())?;
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
    create_private_dirs(dir)?;
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
    let file: File = open_regular(breadcrumb)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_BREADCRUMB)
        .read_to_end(&mut bytes)
        .during("read", breadcrumb)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
