//! JSON values as slices of a validated text.

use crate::json::{Cursor, RawStr};

/// 2^53 - 1, the largest integer that doubles count without gaps.
pub(super) const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// Members of an object by name. Of repeated keys the last counts, as in `JSON.parse`.
pub(super) struct Members<'a, const N: usize> {
    /// Texts of the values, in the order of the names.
    pub(super) values: [Option<&'a [u8]>; N],
    /// Whether there are keys that were not asked for.
    pub(super) others: bool,
}

impl<'a, const N: usize> Members<'a, N> {
    /// The members of the object with this text; `None` if it is none.
    pub(super) fn of(text: &'a [u8], names: &[&str; N]) -> Option<Self> {
        let mut cursor = Cursor::new(text);
        let members = Self::read(&mut cursor, names)?;
        cursor.at_end().then_some(members)
    }

    /// Reads the object that follows; `None` if there is none.
    pub(super) fn read(cursor: &mut Cursor<'a>, names: &[&str; N]) -> Option<Self> {
        let mut members = Self {
            values: [None; N],
            others: false,
        };
        let read = cursor.object(|cursor, key| {
            let span = cursor.skip()?;
            match names.iter().position(|name| key.is(name)) {
                Some(at) => {
                    if let Some(value) = members.values.get_mut(at) {
                        *value = Some(cursor.slice(span));
                    }
                }
                None => members.others = true,
            }
            Ok(())
        });
        read.ok().map(|()| members)
    }

    /// The values, if the object has these keys and no other.
    pub(super) fn exactly(&self) -> Option<[&'a [u8]; N]> {
        let mut all = [&[][..]; N];
        for (to, value) in all.iter_mut().zip(self.values) {
            *to = value?;
        }
        (!self.others).then_some(all)
    }
}

/// The member of an object; `None` if it has none, or is no object.
pub(super) fn member<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Members::of(text, &[name]).and_then(
        |Members {
             values: [value], ..
         }| value,
    )
}

/// The number that a value is.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    Cursor::new(text).number_or_skip().ok().flatten()
}

/// The string that a value is.
pub(super) fn string(text: &[u8]) -> Option<RawStr<'_>> {
    Cursor::new(text).string().ok()
}

/// Whether a value is an array or an object.
pub(super) fn is_container(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'{' | b'['))
}

/// Whether a number is an integer that doubles count without gaps.
pub(super) fn is_safe_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_SAFE
}

/// The elements of an array; `None` if it is none.
pub(super) fn elements(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut cursor = Cursor::new(text);
    let mut all = Vec::new();
    let read = cursor.array(|cursor| {
        let span = cursor.skip()?;
        all.push(cursor.slice(span));
        Ok(())
    });
    read.ok().map(|()| all)
}

/// What JavaScript's `String(value)` makes of a value, `None` being `undefined`.
pub(super) fn js_string(value: Option<&[u8]>) -> String {
    let Some(value) = value else {
        return "undefined".to_owned();
    };
    match value.first() {
        Some(b'"') => string(value).map_or_else(String::new, |text| text.to_text()),
        Some(b'{') => "[object Object]".to_owned(),
        Some(b'[') => {
            // Deeper than anybody looks.
            let texts = elements(value)
                .unwrap_or_default()
                .into_iter()
                .map(|it| match it {
                    b"null" => String::new(),
                    [b'[', ..] => "[object Array]".to_owned(),
                    other => js_string(Some(other)),
                });
            texts.collect::<Vec<_>>().join(",")
        }
        _ => match number(value) {
            Some(number) => crate::json::number::to_js_text(number),
            None => String::from_utf8_lossy(value).into_owned(),
        },
    }
}
