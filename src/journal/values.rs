//! All JSON values of a text, for callers that want them as they are.

use std::io::{self, Read};

use super::lines::{Lines, Piece};

/// Largest group of values handed out as one text.
const GROUP_BYTES: usize = 32 << 20;

/// Reads every value of a JSONL text, leniently, and joins them into JSON arrays. Bytes behind a
/// value on its line are passed over. Each array holds at most a few tens of megabytes, unless one
/// value is larger.
pub fn read_values(source: impl Read) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Lines::new(source);
    let mut groups = Vec::new();
    let mut group = Vec::new();
    loop {
        // The value's bytes are copied while they are at hand; should the reader ask again for the
        // same value, the later copy replaces the earlier.
        let mut text = Vec::new();
        let piece = lines.next(
            |cursor| {
                let start = *cursor;
                let span = cursor.skip()?;
                text.clear();
                text.extend_from_slice(start.slice(span));
                Ok(())
            },
            |()| false,
        )?;
        match piece {
            None => break,
            Some(Piece::Value { glued: false, .. }) => {
                if group.len() + text.len() > GROUP_BYTES && !group.is_empty() {
                    groups.push(closed(std::mem::take(&mut group)));
                }
                group.push(if group.is_empty() { b'[' } else { b',' });
                group.append(&mut text);
            }
            Some(_) => {}
        }
    }
    if !group.is_empty() {
        groups.push(closed(group));
    }
    Ok(groups)
}

fn closed(mut group: Vec<u8>) -> Vec<u8> {
    group.push(b']');
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        let groups = read_values(text.as_bytes()).unwrap();
        groups
            .into_iter()
            .map(|group| String::from_utf8(group).unwrap())
            .collect()
    }

    #[test]
    fn values_are_joined() {
        assert_eq!(values(""), [] as [&str; 0]);
        assert_eq!(
            values("1\n{\"a\": 2}\nbad\nnull 5\n\"x\""),
            ["[1,{\"a\": 2},null,\"x\"]"]
        );
        assert_eq!(values("{\n\"a\":\n1}\n[]\n"), ["[{\n\"a\":\n1},[]]"]);
    }
}
