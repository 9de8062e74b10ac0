//! The transforms between an entry's JSON text and the line that is written.
//!
//! * `partialJson` and `jsonlEvents` are transient and left out at every depth;
//! * image blocks of at least [`IMAGE_UNITS`] and every `image_url` data URL go to the blob store, a
//!   reference takes their place;
//! * other strings over [`LONG_STRING_UNITS`] are cut and get a notice; opaque provider fields,
//!   which a cut would turn into garbage, are cleared instead;
//! * `lineCount` beside a changed `content` is counted again.
//!
//! Only images whose base64 comes back unchanged are moved; others stay, uncut. Lengths are UTF-16
//! units.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::{self, Finder};

use super::walk::{self, Image, Rules};
use crate::Result;
use crate::json::RawStr;
use crate::json::text::{encode, prefix_of_units, utf16_len};
use crate::storage::blob::{self, BlobStore};

/// Longest string that is written whole.
pub const LONG_STRING_UNITS: usize = 500_000;
/// What follows a string that was cut.
pub const TRUNCATION_NOTICE: &str = "\n\n[Session persistence truncated large content]";
/// Shortest image data that is moved to the blob store.
pub const IMAGE_UNITS: usize = 1024;

const TRANSIENT: [&str; 2] = ["partialJson", "jsonlEvents"];
const OPAQUE: [&[u8]; 4] = [
    b"thinkingSignature",
    b"thoughtSignature",
    b"textSignature",
    b"encrypted_content",
];

/// True when a transform could change this text. A cheap search over the bytes: false positives
/// cost a walk, false negatives do not occur for text made by `JSON.stringify`.
pub fn may_change(text: &[u8]) -> bool {
    text.len() > LONG_STRING_UNITS
        || PARTIAL_JSON.find(text).is_some()
        || JSONL_EVENTS.find(text).is_some()
        || IMAGE.find(text).is_some_and(|at| {
            let rest = text.get(at.saturating_sub(1)..).unwrap_or_default();
            let has = |needle: &[u8]| memmem::find(rest, needle).is_some();
            has(b"image_url") || (text.len() > IMAGE_UNITS && has(b"\"image\""))
        })
}

/// Searches that every entry passes.
static PARTIAL_JSON: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"partialJson\""));
static JSONL_EVENTS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"jsonlEvents\""));
static IMAGE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"image"));

/// Applies the transforms; stores blobs before it returns. Blocking.
pub fn transform<'a>(text: &'a [u8], blobs: &BlobStore) -> Result<Cow<'a, [u8]>> {
    if !may_change(text) {
        return Ok(Cow::Borrowed(text));
    }
    walk::rewrite(text, &mut Persist { blobs })
}

struct Persist<'b> {
    blobs: &'b BlobStore,
}

impl Persist<'_> {
    fn reference(&self, content: &[u8]) -> Result<Vec<u8>> {
        let hash = self.blobs.put(content)?.hash;
        Ok(format!("\"{}{hash}\"", blob::PREFIX).into_bytes())
    }
}

impl Rules for Persist<'_> {
    fn drops(&self, key: &RawStr<'_>) -> bool {
        TRANSIENT.iter().any(|name| key.is(name))
    }

    fn string(&mut self, key: &[u8], value: &RawStr<'_>) -> Result<Option<Vec<u8>>> {
        if key == b"image_url" {
            let text = value.decode();
            if is_image_data_url(&text) {
                return self.reference(&text).map(Some);
            }
        }
        if value.raw().len() <= LONG_STRING_UNITS {
            return Ok(None);
        }
        let text = value.decode();
        if utf16_len(&text) <= LONG_STRING_UNITS {
            return Ok(None);
        }
        if OPAQUE.contains(&key) {
            return Ok(Some(b"\"\"".to_vec()));
        }
        Ok(Some(encode(&cut(&text))))
    }

    fn image(&mut self, data: &RawStr<'_>) -> Result<Image> {
        let text = data.decode();
        if text.starts_with(blob::PREFIX.as_bytes()) || utf16_len(&text) < IMAGE_UNITS {
            return Ok(Image::Ordinary);
        }
        match STANDARD.decode(text.as_ref()) {
            // The strict decoder accepts only the canonical form, so encoding gives the text back.
            Ok(bytes) => self.reference(&bytes).map(Image::Replace),
            Err(_) => Ok(Image::Keep),
        }
    }

    fn redacted(&mut self, data: &RawStr<'_>) -> Option<Vec<u8>> {
        (data.raw().len() > LONG_STRING_UNITS && data.utf16_len() > LONG_STRING_UNITS)
            .then(|| b"\"\"".to_vec())
    }

    fn recounts_lines(&self) -> bool {
        true
    }
}

/// True for `data:image/…;base64,…`.
pub fn is_image_data_url(text: &[u8]) -> bool {
    text.starts_with(b"data:image/") && memmem::find(text, b";base64,").is_some()
}

fn cut(text: &[u8]) -> Vec<u8> {
    let room = LONG_STRING_UNITS - TRUNCATION_NOTICE.len();
    let end = prefix_of_units(text, room);
    let mut kept = text.get(..end).unwrap_or_default().to_vec();
    // A lone high surrogate at the cut goes too, as if it were half of a pair.
    if let [.., 0xed, 0xa0..=0xaf, _] = kept[..] {
        kept.truncate(kept.len() - 3);
    }
    kept.extend_from_slice(TRUNCATION_NOTICE.as_bytes());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, BlobStore) {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(dir.path().join("blobs"));
        (dir, blobs)
    }

    fn transformed(text: &str) -> String {
        let (_dir, blobs) = store();
        String::from_utf8(transform(text.as_bytes(), &blobs).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        let (_dir, blobs) = store();
        let text = br#"{"type":"message","message":{"content":"x"}}"#;
        assert!(matches!(transform(text, &blobs).unwrap(), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_no_single_value_stays_as_it_is() {
        let value = r#"{"partialJson":1,"b":2}"#;
        for text in [
            format!("{value}x"),
            format!("{value}{value}"),
            value[1..].to_owned(),
        ] {
            assert_eq!(transformed(&text), text);
        }
        assert_eq!(transformed(&format!(" {value}\r ")), " {\"b\":2}\r ");
    }

    #[test]
    fn transient_members_go() {
        assert_eq!(
            transformed(r#"{"a":[{"partialJson":"{","b":1}],"jsonlEvents":[1]}"#),
            r#"{"a":[{"b":1}]}"#
        );
    }

    #[test]
    fn long_strings_are_cut_between_characters() {
        let exact = format!(r#"{{"t":"{}"}}"#, "x".repeat(500_000));
        assert_eq!(transformed(&exact), exact);
        let room = 500_000 - 47;
        let cut = transformed(&format!(r#"{{"t":"{}"}}"#, "x".repeat(500_001)));
        assert_eq!(
            cut,
            format!(
                "{{\"t\":\"{}\\n\\n[Session persistence truncated large content]\"}}",
                "x".repeat(room)
            )
        );
        let emoji = transformed(&format!(
            r#"{{"t":"{}{}"}}"#,
            "x".repeat(room - 1),
            "😀".repeat(100)
        ));
        assert!(emoji.starts_with(&format!("{{\"t\":\"{}\\n", "x".repeat(room - 1))));
    }

    #[test]
    fn opaque_fields_are_cleared() {
        let long = "y".repeat(500_001);
        for key in [
            "thinkingSignature",
            "thoughtSignature",
            "textSignature",
            "encrypted_content",
        ] {
            assert_eq!(
                transformed(&format!(r#"{{"{key}":"{long}"}}"#)),
                format!(r#"{{"{key}":""}}"#)
            );
        }
        assert_eq!(
            transformed(&format!(
                r#"{{"data":"{long}","type":"redacted_thinking"}}"#
            )),
            r#"{"data":"","type":"redacted_thinking"}"#
        );
    }

    #[test]
    fn images_move_to_the_store_wherever_they_stand() {
        let (_dir, blobs) = store();
        let bytes = vec![7_u8; 3000];
        let data = STANDARD.encode(&bytes);
        let text = format!(
            r#"{{"details":{{"deep":[[{{"type":"image","data":"{data}","mimeType":"image/png"}}]]}},"image_url":["data:image/png;base64,QQ=="]}}"#
        );
        let out = transform(text.as_bytes(), &blobs).unwrap().into_owned();
        let out = String::from_utf8(out).unwrap();
        let image = blob::hash_of(&bytes);
        let url = blob::hash_of(b"data:image/png;base64,QQ==");
        assert_eq!(
            out,
            format!(
                r#"{{"details":{{"deep":[[{{"type":"image","data":"blob:sha256:{image}","mimeType":"image/png"}}]]}},"image_url":["blob:sha256:{url}"]}}"#
            )
        );
        assert_eq!(blobs.get(&image).unwrap(), Some(bytes));
    }

    #[test]
    fn data_that_would_not_come_back_stays() {
        for data in [
            "!".repeat(2000),
            "A".repeat(1025),
            "-_".repeat(700),
            "!".repeat(600_000),
        ] {
            let text = format!(r#"[{{"type":"image","data":"{data}"}}]"#);
            assert_eq!(transformed(&text), text);
        }
    }

    #[test]
    fn a_blob_that_cannot_be_stored_fails_the_write() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("blobs"), b"a file").unwrap();
        let blobs = BlobStore::new(dir.path().join("blobs"));
        let data = STANDARD.encode([1_u8; 2000]);
        let text = format!(r#"[{{"type":"image","data":"{data}"}}]"#);
        assert!(transform(text.as_bytes(), &blobs).is_err());
    }
}
