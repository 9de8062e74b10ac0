use super::*;
use proptest::prelude::*;

/// Gives a few bytes at a time, so that every boundary falls into a refill.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(out.len());
        let (now, later) = self.0.split_at(count);
        out[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

/// All pieces as text: `=value`, `+glued value`, `!junk`.
fn pieces_with(text: &[u8], step: usize) -> Vec<String> {
    let mut lines = Lines::new(Trickle(text, step));
    let mut found = Vec::new();
    let parse = |cursor: &mut Cursor<'_>| cursor.skip().map(|span| span.len());
    while let Some(piece) = lines.next(parse, |&len| len > 12).unwrap() {
        let (mark, offset, len) = match piece {
            Piece::Value {
                offset, len, glued, ..
            } => (if glued { '+' } else { '=' }, offset, len),
            Piece::Junk { offset, len } => ('!', offset, len as usize),
        };
        let bytes = &text[offset as usize..offset as usize + len];
        found.push(format!("{mark}{}", String::from_utf8_lossy(bytes)));
    }
    found
}

fn pieces(text: &str) -> Vec<String> {
    let whole = pieces_with(text.as_bytes(), usize::MAX);
    assert_eq!(pieces_with(text.as_bytes(), 1), whole, "{text}");
    whole
}

#[test]
fn one_value_per_line() {
    assert_eq!(pieces(""), [] as [&str; 0]);
    assert_eq!(pieces("\n \r\n"), [] as [&str; 0]);
    assert_eq!(
        pieces("{\"a\":1}\n2\r\n \"x\" "),
        ["={\"a\":1}", "=2", "=\"x\""]
    );
    assert_eq!(pieces("\u{feff}1\n2\n"), ["=1", "=2"]);
}

#[test]
fn damaged_lines_cost_only_themselves() {
    for bad in [
        "garbage",
        "{'a':1}",
        "{\"a\":1,}",
        "NaN",
        "01",
        "\"\t\"",
        "\0\0\0",
        "{\"type\":\"x",
        "# x",
    ] {
        let text = format!("1\n{bad}\n2\n");
        assert_eq!(
            pieces(&text),
            ["=1".to_owned(), format!("!{bad}"), "=2".to_owned()]
        );
    }
}

#[test]
fn torn_bytes_that_begin_with_a_quotation_mark_swallow_nothing() {
    let record = "{\"type\":\"custom\",\"id\":1}";
    for torn in ["\"", "\"abc", "\",\"id\":\"", "\"\\u00", "\"a\" \""] {
        for end in ["", "\n", "\n2\n"] {
            let found = pieces(&format!("{torn}{record}{end}"));
            assert!(found.contains(&format!("+{record}")), "{torn}: {found:?}");
        }
    }
    assert_eq!(pieces("\"a\" b\n\"c\"\n"), ["=\"a\"", "! b", "=\"c\""]);
}

#[test]
fn torn_lines_do_not_swallow_their_neighbours() {
    assert_eq!(pieces("{\"a\":[\n{\"b\":1}\n"), ["!{\"a\":[", "={\"b\":1}"]);
    assert_eq!(pieces("{\"a\":[1,\n2\n3\n"), ["!{\"a\":[1,", "=2", "=3"]);
    assert_eq!(pieces("1\n{\"a\":"), ["=1", "!{\"a\":"]);
}

#[test]
fn torn_lines_that_could_all_go_on_cost_time_in_proportion() {
    const TORN: &[u8] = b"{\"a\":[\n";
    let count = 300_000;
    let text = [TORN.repeat(count).as_slice(), b"5\n"].concat();
    let found = pieces_with(&text, usize::MAX);
    assert_eq!(found.len(), count + 1);
    assert_eq!(found.last().unwrap(), "=5");
}

#[test]
fn values_may_span_lines() {
    assert_eq!(
        pieces("{\n  \"a\": [\n1\n]\n}\n5\n"),
        ["={\n  \"a\": [\n1\n]\n}", "=5"]
    );
    assert_eq!(
        pieces("{\n\"a\":1} x\n5"),
        ["={\n\"a\":1}", "!x".replace('x', " x").as_str(), "=5"]
    );
}

#[test]
fn whole_records_behind_other_bytes_are_found() {
    let record = "{\"type\":\"message\",\"id\":\"a\"}";
    for (text, expected) in [
        (
            format!("{record}{record}\n"),
            vec![format!("={record}"), format!("+{record}")],
        ),
        (
            format!("{{\"type\":\"mess{record}\n1\n"),
            vec![
                "!{\"type\":\"mess".to_owned(),
                format!("+{record}"),
                "=1".to_owned(),
            ],
        ),
        (
            format!("\0\0\0{record}\n"),
            vec!["!\0\0\0".to_owned(), format!("+{record}")],
        ),
        (
            format!("{record} junk\n"),
            vec![format!("={record}"), "! junk".to_owned()],
        ),
        (
            format!("{record}{{\"type\":\"x\n"),
            vec![format!("={record}"), "!{\"type\":\"x".to_owned()],
        ),
        (
            format!("{{\"a\":[{record},{record}\n"),
            vec![format!("!{{\"a\":[{record},"), format!("+{record}")],
        ),
    ] {
        assert_eq!(pieces(&text), expected, "{text}");
    }
}

#[test]
fn termination_is_reported() {
    for (text, unterminated) in [("", false), ("1\n", false), ("1", true), ("1\n ", true)] {
        let mut lines = Lines::new(text.as_bytes());
        while lines
            .next(|cursor| cursor.skip(), |_| true)
            .unwrap()
            .is_some()
        {}
        assert_eq!(lines.is_unterminated(), unterminated, "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_the_same_however_they_arrive(text in "[{}\\[\\]\":,a1 \n\r\0]{0,60}", step in 1usize..7) {
        prop_assert_eq!(pieces_with(text.as_bytes(), step), pieces_with(text.as_bytes(), usize::MAX));
    }

    #[test]
    fn whole_lines_are_all_found(values in prop::collection::vec(any::<String>(), 0..8)) {
        let lines: Vec<_> = values.iter().map(|v| serde_json::to_string(v).unwrap()).collect();
        let expected: Vec<_> = lines.iter().map(|line| format!("={line}")).collect();
        prop_assert_eq!(pieces(&format!("{}\n", lines.join("\n"))), expected);
    }
}
