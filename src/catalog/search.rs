//! What a search looks at in a session.

use std::path::Path;

use super::describe::{Description, Said, id_in_name};
use crate::json::cursor::Step;
use crate::json::number::to_js_text;
use crate::json::{Cursor, Kind};

/// Stands for the first message of a session that has none.
const NO_MESSAGES: &[u8] = b"(no messages)";

/// Id, title, working directory, first message, all messages, path, joined with spaces. As WTF-8.
pub fn search_text(path: &Path, description: &Description, said: &Said) -> Vec<u8> {
    let header = description.header.as_ref();
    let names = header.map(|header| Names::read(&header.text).unwrap_or_default());
    let Names { id, title } = names.unwrap_or_default();
    let id = if id.is_empty() {
        id_in_name(path).into_bytes()
    } else {
        id
    };
    let title = title_of(description, title).unwrap_or_default();
    let path = path.to_string_lossy();
    let parts = [
        &id[..],
        &title,
        description.cwd().unwrap_or_default().as_bytes(),
        description.first_message.as_deref().unwrap_or(NO_MESSAGES),
        &said.0,
        path.as_bytes(),
    ];
    let parts: Vec<&[u8]> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&b' ')
}

/// The title that a listing shows.
fn title_of(description: &Description, in_header: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let title = match &description.slot_title {
        Some(slot) => Some(slot.clone()).filter(|slot| !slot.is_empty()),
        None => in_header,
    };
    title.or_else(|| description.short_summary.clone())
}

/// What a header says about the session's names; empty and `None` where it says nothing.
#[derive(Default)]
struct Names {
    id: Vec<u8>,
    title: Option<Vec<u8>>,
}

impl Names {
    fn read(header: &[u8]) -> Step<Self> {
        let mut names = Self::default();
        Cursor::new(header).object(|cursor, key| {
            match key.decode().as_ref() {
                b"id" => names.id = text(cursor)?.unwrap_or_default(),
                b"title" => names.title = text(cursor)?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(names)
    }
}

/// A string, or a number as text. `None` for `null`; other values count as empty.
fn text(cursor: &mut Cursor<'_>) -> Step<Option<Vec<u8>>> {
    Ok(match cursor.kind()? {
        Kind::String => Some(cursor.string()?.decode().into_owned()),
        Kind::Number => {
            let number = cursor.number_or_skip()?;
            Some(number.map(to_js_text).unwrap_or_default().into_bytes())
        }
        kind => {
            cursor.skip()?;
            (kind != Kind::Null).then(Vec::new)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::describe::describe;
    use crate::journal::lines::Lines;

    fn text_of(lines: &[&str]) -> String {
        let text = lines.join("\n");
        let mut said = Said::default();
        let description = describe(&mut Lines::new(text.as_bytes()), Some(&mut said));
        let description = description.unwrap().unwrap();
        let path = Path::new("/s/2026_ab.jsonl");
        String::from_utf8(search_text(path, &description, &said)).unwrap()
    }

    #[test]
    fn all_fields_in_order() {
        let header = r#"{"type":"session","id":"i","timestamp":"t","cwd":"/w","title":"T"}"#;
        let said = |role: &str, text: &str| {
            format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
        };
        assert_eq!(
            text_of(&[
                header,
                &said("user", "u"),
                &said("assistant", "a"),
                &said("user", "v")
            ]),
            "i T /w u u a v /s/2026_ab.jsonl"
        );
        assert_eq!(text_of(&[header]), "i T /w (no messages) /s/2026_ab.jsonl");
    }

    #[test]
    fn titles_and_ids_of_all_origins() {
        let summary = r#"{"type":"compaction","shortSummary":"S"}"#;
        let slot = |title: &str| format!(r#"{{"type":"title","title":"{title}"}}"#);
        let header = |rest: &str| format!(r#"{{"type":"session","id":7{rest}}}"#);
        let titled = header(r#","title":"T""#);
        let rest = "(no messages) /s/2026_ab.jsonl";
        for (lines, start) in [
            (vec![slot("L"), titled.clone(), summary.to_owned()], "7 L"),
            (vec![slot(""), titled.clone(), summary.to_owned()], "7 S"),
            (vec![titled, summary.to_owned()], "7 T"),
            (vec![header(""), summary.to_owned()], "7 S"),
            (vec![header(r#","title":null"#), summary.to_owned()], "7 S"),
            (vec![header(r#","title":"""#), summary.to_owned()], "7"),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(text_of(&lines), format!("{start} {rest}"));
        }
        let entry = r#"{"type":"custom","id":"e","parentId":null,"timestamp":"t"}"#;
        assert_eq!(
            text_of(&["{\"type\":\"session\"}", entry]),
            format!("ab {rest}")
        );
    }
}
