//! Findings as JSON.

use std::path::PathBuf;

use super::examine::Examination;
use super::findings::Finding;
use super::repair::Repair;
use crate::json::number::to_js_text;
use crate::json::text::encode;

/// The JSON text of an examination: `size`, `sessionId`, `formatVersion`, `entries`, `findings`.
pub fn examination(examination: &Examination) -> Vec<u8> {
    let mut object = Object::default();
    object.number("size", Some(examination.size as f64));
    object.text("sessionId", examination.session_id.as_deref());
    object.number(
        "formatVersion",
        examination.version.filter(|v| v.is_finite()),
    );
    object.number("entries", Some(examination.entries as f64));
    object.raw("findings", &findings(&examination.findings));
    object.close()
}

/// The JSON text of what a repair did.
pub fn repair(repair: &Repair) -> Vec<u8> {
    let mut object = Object::default();
    object.number("entries", Some(repair.entries as f64));
    object.number("recoveredEntries", Some(repair.recovered as f64));
    object.number("relinkedEntries", Some(repair.relinked as f64));
    object.number("renamedEntries", Some(repair.renamed as f64));
    object.number("duplicatesLeftOut", Some(repair.copies as f64));
    object.number("bytesLeftOut", Some(repair.bytes_left_out as f64));
    object.raw("headerMade", flag(repair.header_made));
    object.close()
}

fn flag(value: bool) -> &'static [u8] {
    match value {
        true => b"true",
        false => b"false",
    }
}

/// The JSON text of a list of findings.
pub fn findings(list: &[Finding]) -> Vec<u8> {
    array(list.iter().map(|finding| members(finding).close()))
}

/// The JSON text of what was left in folders: findings, with the `session` file that each belongs to.
pub fn leftovers(list: &[(Option<PathBuf>, Finding)]) -> Vec<u8> {
    let each = list.iter().map(|(session, each)| {
        let mut object = members(each);
        let session = session.as_ref().map(|path| path.to_string_lossy());
        object.text("session", session.as_deref());
        object.close()
    });
    array(each)
}

fn array(texts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend(text);
    }
    out.push(b']');
    out
}

fn members(finding: &Finding) -> Object {
    let mut object = Object::default();
    object.text("kind", Some(finding.kind.code()));
    object.text("message", Some(&finding.to_string()));
    object.raw("repairable", flag(finding.kind.is_repairable()));
    object.number("line", finding.line.map(|line| line as f64));
    object.number("offset", finding.offset.map(|offset| offset as f64));
    object.number("length", finding.len.map(|len| len as f64));
    object.text("id", finding.id.as_deref());
    object.text("related", finding.related.as_deref());
    object.number("count", finding.count.map(|count| count as f64));
    let path = finding.path.as_ref().map(|path| path.to_string_lossy());
    object.text("path", path.as_deref());
    object
}

/// A JSON object in the making. Members without a value are left out.
#[derive(Default)]
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn raw(&mut self, name: &str, json: &[u8]) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend(encode(name.as_bytes()));
        self.0.push(b':');
        self.0.extend_from_slice(json);
    }

    pub(super) fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.raw(name, &encode(value.as_bytes()));
        }
    }

    pub(super) fn number(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.raw(name, to_js_text(value).as_bytes());
        }
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::Kind;
    use super::*;

    #[test]
    fn only_what_is_known_is_told() {
        let examination = Examination {
            size: 9,
            session_id: None,
            version: Some(f64::NAN),
            entries: 0,
            findings: vec![
                Finding::at(Kind::TornTail, 3, 6),
                Finding::new(Kind::LockFile),
            ],
        };
        let text = super::examination(&examination);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["size"], 9);
        assert_eq!(value["findings"][0]["kind"], "torn-tail");
        assert_eq!(value["findings"][0]["offset"], 3);
        assert_eq!(value["findings"][0]["repairable"], true);
        assert_eq!(value.as_object().unwrap().len(), 3);
        assert_eq!(value["findings"][1].as_object().unwrap().len(), 3);
    }
}
