//! Names of directories: of a session, from its id, and of a project, from its working directory.

use crate::json::text::to_utf16;

/// Bytes that are kept of a project's name, without the dashes around it.
const PROJECT_BYTES: usize = 251;
/// Directory of sessions without a working directory.
pub const NO_CWD: &str = "_no-cwd";

/// Why something cannot name a directory. The texts are part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// The id of a session is empty.
    #[error("cannot encode an empty path segment")]
    EmptyId,
    /// The working directory is empty.
    #[error("cannot encode an empty project path")]
    EmptyCwd,
}

/// The directory of a session, from its id in WTF-8. Different ids have different directories.
pub fn encode_segment(id: &[u8]) -> Result<String, NameFault> {
    match id {
        b"" => Err(NameFault::EmptyId),
        b"." => Ok("~002E".to_owned()),
        b".." => Ok("~002E~002E".to_owned()),
        _ => {
            let mut name = String::with_capacity(id.len());
            for unit in to_utf16(id) {
                push_unit(&mut name, unit);
            }
            Ok(name)
        }
    }
}

/// The directory of a project, from its working directory in WTF-8. Several can share one.
pub fn project_key(cwd: &[u8]) -> Result<String, NameFault> {
    if cwd.is_empty() {
        return Err(NameFault::EmptyCwd);
    }
    let mut name = String::with_capacity(cwd.len());
    let mut in_separators = false;
    for unit in to_utf16(cwd) {
        let is_separator = [b'/', b'\\', b':'].iter().any(|&it| unit == u16::from(it));
        match (is_separator, in_separators) {
            (true, true) => {}
            (true, false) => name.push('-'),
            (false, _) => push_unit(&mut name, unit),
        }
        in_separators = is_separator;
    }
    let trimmed = name.trim_start_matches('-');
    let kept = if trimmed.is_empty() { "root" } else { trimmed };
    // Everything is ASCII by now.
    let kept = kept.get(..PROJECT_BYTES).unwrap_or(kept);
    Ok(format!("--{kept}--"))
}

fn push_unit(name: &mut String, unit: u16) {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) => {
            name.push(char::from(byte));
        }
        _ => name.push_str(&format!("~{unit:04X}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::text::from_utf16;
    use proptest::prelude::*;

    /// Reads a directory's name back.
    fn decode_segment(name: &str) -> Vec<u16> {
        let mut units = Vec::new();
        let mut rest = name;
        while let Some(first) = rest.chars().next() {
            let (unit, length) = match first {
                '~' => (u16::from_str_radix(&rest[1..5], 16).unwrap(), 5),
                other => (other as u16, 1),
            };
            units.push(unit);
            rest = &rest[length..];
        }
        units
    }

    #[test]
    fn longest_project_name() {
        let key = project_key("/".repeat(3).as_bytes()).unwrap();
        assert_eq!(key, "--root--");
        let key = project_key(format!("/{}", "é".repeat(60)).as_bytes()).unwrap();
        assert_eq!(key.len(), 255);
        assert!(key.ends_with("~00E9~--"));
    }

    proptest! {
        #[test]
        fn ids_can_be_read_back(units in prop::collection::vec(any::<u16>(), 1..20)) {
            let name = encode_segment(&from_utf16(&units)).unwrap();
            prop_assert!(name.is_ascii() && !name.contains('/') && name != "." && name != "..");
            prop_assert_eq!(decode_segment(&name), units);
        }

        #[test]
        fn project_names_are_names(cwd in "[a-z/\\\\:é.~ -]{1,300}") {
            let key = project_key(cwd.as_bytes()).unwrap();
            prop_assert!(key.len() <= 255 && key.is_ascii() && !key.contains('/'));
            prop_assert!(key.starts_with("--") && key.ends_with("--") && key != NO_CWD);
        }
    }
}
