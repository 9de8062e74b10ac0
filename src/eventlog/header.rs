//! Headers: the first line of a log.

use std::path::Path;

use super::failure::{self, corrupt};
use super::value::{MAX_SAFE, Members, js_string, number, string};
use crate::json::Cursor;
use crate::json::number::to_js_text;
use crate::json::text::encode;
use crate::{Error, Result};

/// The fields in the order in which they are written, without `type`.
const FIELDS: [&str; 9] = [
    "version",
    "id",
    "createdAt",
    "cwd",
    "parentSession",
    "seedLength",
    "origin",
    "delegationDepth",
    "agentPreset",
];

/// What a session says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The id in WTF-8.
    pub id: Vec<u8>,
    /// JSON text of the working directory.
    cwd: Option<Vec<u8>>,
    /// JSON object of the fields that are there, without `type`.
    json: Vec<u8>,
}

impl Header {
    /// Of the JSON object that a caller describes a session with. Its `id` must be a string.
    pub fn of_caller(json: &[u8]) -> Result<Self> {
        let members = Members::of(json, &FIELDS)
            .ok_or_else(|| Error::Internal("a header is no object".to_owned()))?;
        let mut values = members.values;
        values[7] = values[7].or(Some(b"0"));
        Self::of_values(values).ok_or_else(|| Error::Internal("a header without id".to_owned()))
    }

    fn of_values(values: [Option<&[u8]>; 9]) -> Option<Self> {
        let mut json = vec![b'{'];
        for (name, value) in FIELDS.iter().zip(values) {
            let Some(value) = value else { continue };
            if json.len() > 1 {
                json.push(b',');
            }
            json.extend_from_slice(format!(r#""{name}":"#).as_bytes());
            json.extend_from_slice(value);
        }
        json.push(b'}');
        Some(Self {
            id: string(values[1]?)?.decode().into_owned(),
            cwd: values[3].map(<[u8]>::to_vec),
            json,
        })
    }

    /// JSON object of the fields that are there.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The line that it is stored as.
    pub(super) fn line(&self) -> Vec<u8> {
        let rest = self.json.get(1..).unwrap_or_default();
        [br#"{"type":"session","#, rest, b"\n"].concat()
    }

    /// The directory of its project.
    pub(super) fn project(&self) -> Result<String> {
        let Some(cwd) = &self.cwd else {
            return Ok(super::names::NO_CWD.to_owned());
        };
        match (string(cwd), cwd.as_slice()) {
            (Some(cwd), _) => super::names::project_key(&cwd.decode()).map_err(failure::name),
            (None, b"null") => Err(failure::log(
                failure::BAD_NAME,
                "cannot encode a project path that is null",
            )),
            // What has no characters has no name.
            (None, _) => Ok("--root--".to_owned()),
        }
    }
}

/// Reads the header of a log that is to be opened: `line` is what comes before the events.
pub(super) fn parse(line: &[u8], path: &Path) -> Result<Header> {
    let line = match memchr::memchr(b'\n', line) {
        Some(at) if at + 1 == line.len() => line.get(..at).unwrap_or_default(),
        _ => return Err(corrupt("empty or header-less session log")),
    };
    if !is_json(line) {
        return Err(corrupt(
            "corrupt session log: header line is not valid JSON",
        ));
    }
    if let Some(version) = foreign_version(line) {
        return Err(unsupported_version(line, version, path));
    }
    shape(line)?.ok_or_else(|| corrupt("corrupt session log: first line is not a session header"))
}

/// Reads a header for a list: `None` if it is none, whatever the version.
pub(super) fn parse_leniently(line: &[u8]) -> Result<Option<Header>> {
    if is_json(line) { shape(line) } else { Ok(None) }
}

fn is_json(line: &[u8]) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.skip().is_ok() && cursor.at_end()
}

fn foreign_version(line: &[u8]) -> Option<f64> {
    let [version] = Members::of(line, &["version"])?.values;
    number(version?).filter(|version| *version != 0.0)
}

fn unsupported_version(line: &[u8], version: f64, path: &Path) -> Error {
    let id = Members::of(line, &["id"]).and_then(|members| members.values[0]);
    let (id, version_text) = (js_string(id), to_js_text(version));
    let why = if version > 0.0 {
        format!(
            "session \"{id}\" uses log format v{version_text}, but this harness reads only v0: the log was written by a newer harness — upgrade the harness to open it"
        )
    } else {
        format!(
            "session \"{id}\" uses log format v{version_text}, older than the supported v0, and this build ships no upgrade path for it"
        )
    };
    failure::unsupported(&why, path)
}

/// The header of an object that has the shape of one.
fn shape(line: &[u8]) -> Result<Option<Header>> {
    let Some(Members {
        values: [kind, sandbox, approval],
        ..
    }) = Members::of(line, &["type", "sandboxMode", "approvalPolicy"])
    else {
        return Ok(None);
    };
    let Some(Members { values, .. }) = Members::of(line, &FIELDS) else {
        return Ok(None);
    };
    let is_string = |value: &[u8]| string(value).is_some();
    let [version, id, created, _, _, _, origin, depth, preset] = values;
    let has_shape = kind.and_then(string).is_some_and(|kind| kind.is("session"))
        && version.and_then(number).is_some()
        && id.is_some_and(is_string)
        && created.is_some_and(is_count)
        && depth.is_some_and(is_count)
        && origin.is_none_or(|origin| string(origin).is_some_and(|it| it.is("subagent")))
        && preset.is_none_or(is_string);
    if !has_shape {
        return Ok(None);
    }
    if sandbox.is_some() || approval.is_some() {
        return Err(corrupt(
            "session header uses retired policy baseline fields",
        ));
    }
    Ok(Header::of_values(values))
}

/// A safe integer from 0 on, and not `-0`.
fn is_count(value: &[u8]) -> bool {
    number(value).is_some_and(|number| {
        number.fract() == 0.0 && number.is_sign_positive() && number <= MAX_SAFE
    })
}

/// A text as a JSON string literal for messages.
pub(super) fn quoted(text: &str) -> String {
    String::from_utf8_lossy(&encode(text.as_bytes())).into_owned()
}
