//! Artifacts: long outputs of tools, kept as `<number>.<tool>.log` in a directory beside the
//! session file.

/// The directory that holds a session's artifacts: the session file's path without `.jsonl`.
///
/// A path that does not end so, or whose name would become empty, `.` or `..` without it, gets
/// `.artifacts` appended instead: the directory is removed together with the session, so it must
/// never be one that others use.
pub fn artifacts_dir(session_file: &str) -> String {
    session_file
        .strip_suffix(".jsonl")
        .filter(|stem| names_something(stem))
        .map_or_else(|| format!("{session_file}.artifacts"), str::to_owned)
}

fn names_something(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    !matches!(name, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_the_sessions_own() {
        for (session, dir) in [
            ("/s/2026_a.jsonl", "/s/2026_a"),
            ("relative.jsonl", "relative"),
            ("/s/a.jsonl.jsonl", "/s/a.jsonl"),
            ("/dir/noext", "/dir/noext.artifacts"),
            ("/tmp/abc.txt", "/tmp/abc.txt.artifacts"),
            ("/s/a.JSONL", "/s/a.JSONL.artifacts"),
            ("/s/.jsonl", "/s/.jsonl.artifacts"),
            (".jsonl", ".jsonl.artifacts"),
            ("/s/..jsonl", "/s/..jsonl.artifacts"),
            ("/s/...jsonl", "/s/...jsonl.artifacts"),
            ("", ".artifacts"),
        ] {
            assert_eq!(artifacts_dir(session), dir);
        }
    }
}
