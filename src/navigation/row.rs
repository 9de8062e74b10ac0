//! Rows of a listing as JSON text. Callers take the few that fit a screen.

use crate::json::number::to_js_text;
use crate::json::text::encode;
use crate::session::Interner;

use super::layout::Place;
use super::listing::{Item, Listing};
use super::shown::{Arena, Tone};

impl Listing {
    /// JSON array of some rows.
    pub fn rows_json(&self, rows: &[u32]) -> Vec<u8> {
        let mut json = vec![b'['];
        for (at, &row) in rows.iter().enumerate() {
            if at > 0 {
                json.push(b',');
            }
            self.write_row(&mut json, row);
        }
        json.push(b']');
        json
    }

    /// JSON array of the ids in some rows.
    pub fn ids_json(&self, rows: &[u32]) -> Vec<u8> {
        let ids: Vec<Vec<u8>> = rows
            .iter()
            .filter_map(|&row| {
                let place = self.layout.places.get(row as usize)?;
                let (arena, item) = self.item(place.slot)?;
                Some(id_json(arena.get(item.id)))
            })
            .collect();
        [b"[", &ids.join(&b',')[..], b"]"].concat()
    }

    fn write_row(&self, json: &mut Vec<u8>, row: u32) {
        let found = self.layout.places.get(row as usize);
        let Some((place, (arena, item))) =
            found.and_then(|place| Some((place, self.item(place.slot)?)))
        else {
            json.extend_from_slice(b"null");
            return;
        };
        let mut object = Object { json, comma: false };
        object.open();
        write_identity(&mut object, arena, item);
        self.write_place(&mut object, row, place);
        self.write_text(&mut object, row, arena, item);
        object.json.push(b'}');
    }

    fn write_place(&self, object: &mut Object<'_>, row: u32, place: &Place) {
        object.number("depth", self.layout.depth(place));
        let connector = match (self.layout.has_connector(place), place.is_last) {
            (false, _) => "none",
            (true, false) => "branch",
            (true, true) => "last",
        };
        object.word("connector", connector);
        object.key("gutters");
        object.json.push(b'[');
        for (at, (position, shown)) in self.layout.guides(place).into_iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let gutter = format!("{comma}{{\"position\":{position},\"show\":{shown}}}");
            object.json.extend(gutter.into_bytes());
        }
        object.json.push(b']');
        object.flag("onActivePath", place.is_active);
        object.flag("isLeaf", self.leaf == Some(row));
        object.number("childCount", place.children);
    }

    fn write_text(&self, object: &mut Object<'_>, row: u32, arena: &Arena, item: &Item) {
        if let Some(label) = self.label(row) {
            object.text("label", &label.text);
        }
        let shown = &item.shown;
        object.text("timestamp", arena.get(shown.timestamp));
        object.text("lead", arena.get(shown.lead));
        let text = self.call(row).unwrap_or_else(|| arena.get(shown.text));
        object.text("text", text);
        object.word("tone", tone_name(shown.tone));
    }
}

fn write_identity(object: &mut Object<'_>, arena: &Arena, item: &Item) {
    object.key("id");
    object.json.extend(id_json(arena.get(item.id)));
    object.key("parentId");
    match item.parent {
        Some(parent) => object.json.extend(id_json(arena.get(parent))),
        None => object.json.extend_from_slice(b"null"),
    }
    object.text("type", arena.get(item.shown.kind_name));
    let role = arena.get(item.shown.role_name);
    if !role.is_empty() {
        object.text("role", role);
    }
}

fn tone_name(tone: Tone) -> &'static str {
    match tone {
        Tone::User => "user",
        Tone::Assistant => "assistant",
        Tone::Muted => "muted",
        Tone::Dim => "dim",
        Tone::Error => "error",
        Tone::Custom => "custom",
        Tone::Compaction => "compaction",
        Tone::Summary => "summary",
    }
}

/// An id as JSON; see [`Interner::number_key`].
fn id_json(key: &[u8]) -> Vec<u8> {
    match Interner::number_of_key(key) {
        // The one form that JSON has for it.
        Some(f64::INFINITY) => b"1e400".to_vec(),
        Some(f64::NEG_INFINITY) => b"-1e400".to_vec(),
        Some(number) if number.is_nan() => b"null".to_vec(),
        Some(number) => to_js_text(number).into_bytes(),
        None => encode(key),
    }
}

/// Writes members of an object.
struct Object<'a> {
    json: &'a mut Vec<u8>,
    comma: bool,
}

impl Object<'_> {
    fn open(&mut self) {
        self.json.push(b'{');
    }

    fn key(&mut self, key: &str) {
        if std::mem::replace(&mut self.comma, true) {
            self.json.push(b',');
        }
        self.json.push(b'"');
        self.json.extend_from_slice(key.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    fn text(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.json.extend(encode(value));
    }

    /// A text that needs no escapes.
    fn word(&mut self, key: &str, value: &str) {
        self.key(key);
        self.json.push(b'"');
        self.json.extend_from_slice(value.as_bytes());
        self.json.push(b'"');
    }

    fn number(&mut self, key: &str, value: u32) {
        self.key(key);
        self.json.extend(value.to_string().into_bytes());
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.json
            .extend_from_slice(if value { b"true" } else { b"false" });
    }
}
