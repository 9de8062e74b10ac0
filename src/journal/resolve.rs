//! Blob references in a loaded text, replaced by what they stand for.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use super::walk::{self, Image, Rules};
use crate::Result;
use crate::json::RawStr;
use crate::json::text::encode;
use crate::storage::blob::{self, BlobStore};

/// Where a missing blob was referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the `data` of an image block.
    Image,
    /// In an `image_url`.
    ImageUrl,
}

/// A reference whose blob is missing, damaged or not addressable; it stays in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What stood behind the prefix.
    pub hash: String,
    /// Where it stood.
    pub place: Place,
}

/// Puts blobs back into a text; notes those that are missing. Blocking: reads the blobs.
pub fn resolve<'a>(text: &'a [u8], blobs: &BlobStore, missing: &mut Vec<Missing>) -> Cow<'a, [u8]> {
    if memmem::find(text, blob::PREFIX.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut rules = Resolve { blobs, missing };
    walk::rewrite(text, &mut rules).unwrap_or(Cow::Borrowed(text))
}

struct Resolve<'b> {
    blobs: &'b BlobStore,
    missing: &'b mut Vec<Missing>,
}

impl Resolve<'_> {
    /// The blob that a string refers to; `None` for other strings and missing blobs.
    fn fetch(&mut self, value: &RawStr<'_>, place: Place) -> Option<Vec<u8>> {
        if !value.raw().starts_with(b"blob:") {
            return None;
        }
        let text = value.to_text();
        let hash = blob::parse_ref(&text)?;
        // A blob that cannot be read is as good as missing: the reference stays and can be
        // resolved when the cause is gone.
        let content = self.blobs.get(hash).ok().flatten();
        if content.is_none() && !hash.is_empty() {
            self.missing.push(Missing {
                hash: hash.to_owned(),
                place,
            });
        }
        content
    }
}

impl Rules for Resolve<'_> {
    fn string(&mut self, key: &[u8], value: &RawStr<'_>) -> Result<Option<Vec<u8>>> {
        if key != b"image_url" {
            return Ok(None);
        }
        Ok(self.fetch(value, Place::ImageUrl).map(|url| encode(&url)))
    }

    fn image(&mut self, data: &RawStr<'_>) -> Result<Image> {
        Ok(match self.fetch(data, Place::Image) {
            Some(bytes) => Image::Replace(format!("\"{}\"", STANDARD.encode(bytes)).into_bytes()),
            None => Image::Ordinary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::persist;

    #[test]
    fn what_was_moved_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(dir.path().to_path_buf());
        let data = STANDARD.encode([9_u8; 1500]);
        let text = format!(
            r#"{{"a":{{"type":"image","data":"{data}"}},"image_url":"data:image/png;base64,\u0041é","list":{{"image_url":["data:image/gif;base64,Qg=="]}}}}"#
        );
        let stored = persist::transform(text.as_bytes(), &blobs)
            .unwrap()
            .into_owned();
        let mut missing = Vec::new();
        let back = resolve(&stored, &blobs, &mut missing);
        assert_eq!(
            String::from_utf8(back.into_owned()).unwrap(),
            text.replace("\\u0041", "A")
        );
        assert_eq!(missing, []);
    }

    #[test]
    fn references_that_lead_nowhere_stay() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret"), b"secret").unwrap();
        let store = dir.path().join("blobs");
        std::fs::create_dir(&store).unwrap();
        let blobs = BlobStore::new(store.clone());
        let short = "a".repeat(63);
        let damaged = blob::hash_of(b"content");
        std::fs::write(store.join(&damaged), b"").unwrap();
        for hash in ["../secret", short.as_str(), damaged.as_str()] {
            let text = format!(r#"[{{"type":"image","data":"blob:sha256:{hash}"}}]"#);
            let mut missing = Vec::new();
            let out = resolve(text.as_bytes(), &blobs, &mut missing);
            assert_eq!(out.as_ref(), text.as_bytes());
            assert_eq!(
                missing,
                [Missing {
                    hash: hash.to_owned(),
                    place: Place::Image
                }]
            );
        }
    }
}
