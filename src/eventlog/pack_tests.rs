use super::*;
use crate::eventlog::row::Row;
use proptest::prelude::*;

fn expanded(lines: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap();
        let tag = string(crate::eventlog::value::member(line, "type").unwrap()).unwrap();
        match RowKind::of_tag(&tag.to_text()) {
            Some(kind) => events.extend(Row::parse(kind, line).unwrap().expand()),
            None => events.push(line.to_vec()),
        }
    }
    events
}

fn text_event(seq: u64, time: i64, text: &str) -> String {
    format!(
        r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":{text}}}}}}}"#
    )
}

#[test]
fn two_are_no_run_and_three_are_one() {
    let events: Vec<_> = (0..3)
        .map(|seq| text_event(seq, 100 - seq as i64, r#""\ud83d""#))
        .collect();
    assert_eq!(runs(&events[..2]), []);
    let lines = lines(&events, true);
    assert_eq!(
        String::from_utf8_lossy(&lines),
        "{\"type\":\"text-chunks\",\"seq0\":0,\"time0\":100,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[-1,-1],\"texts\":[\"\\ud83d\",\"\\ud83d\",\"\\ud83d\"]}}\n"
    );
}

#[test]
fn gaps_beyond_safe_integers_split() {
    let times = [
        -9_007_199_254_740_991,
        -9_007_199_254_740_990,
        0,
        1,
        9_007_199_254_740_991,
    ];
    let events: Vec<_> = (0..)
        .zip(times)
        .map(|(seq, time)| text_event(seq, time, "\"\""))
        .collect();
    // The gap from -(2^53 - 2) to 0 still is a safe integer, and so is the last one.
    assert_eq!(runs(&events)[0].count, 5);
    let events = [
        text_event(0, -2, "\"\""),
        text_event(1, 9_007_199_254_740_991, "\"\""),
        text_event(2, 9_007_199_254_740_991, "\"\""),
        text_event(3, 9_007_199_254_740_991, "\"\""),
    ];
    let found = runs(&events);
    assert_eq!((found[0].first, found[0].count), (1, 3));
}

/// Events of all kinds that pack and of some that do not, in any neighbourhood.
fn any_event() -> impl Strategy<Value = (u8, i64, String)> {
    let text = prop_oneof![
        Just(String::new()),
        "[a-z\u{1f600}é]{0,5}",
        Just("\\ud800".to_owned()),
        Just("\\u0000\\n\\\"".to_owned()),
    ];
    (0_u8..7, -5_i64..5, text)
}

fn event_text(seq: usize, (kind, time, text): &(u8, i64, String)) -> String {
    let wrap = |chunk: String| {
        format!(
            r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{{"turn":1,"step":0.5,"chunk":{chunk}}}}}"#
        )
    };
    match kind {
        0 | 1 => wrap(format!(
            r#"{{"type":"text-delta","index":0,"text":"{text}"}}"#
        )),
        2 => wrap(format!(
            r#"{{"type":"reasoning-delta","index":0,"text":"{text}"}}"#
        )),
        3 => wrap(format!(
            r#"{{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":"{text}"}}"#
        )),
        4 => wrap(format!(
            r#"{{"type":"tool-call-delta","index":0,"id":"{text}","name":"n","argumentsDelta":"x"}}"#
        )),
        5 => format!(
            r#"{{"type":"{text}/x","seq":{seq},"time":{time},"data":{}{{"z":1,"a":"{text}"}}{}}}"#,
            "[".repeat(300),
            "]".repeat(300)
        ),
        _ => wrap(format!(
            r#"{{"type":"text-delta","index":0,"text":"{text}","extra":1}}"#
        )),
    }
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(
        events in prop::collection::vec((any_event(), 1_usize..6), 0..12),
    ) {
        let events: Vec<_> = events.iter().flat_map(|(event, times)| vec![event; *times]).collect();
        let texts: Vec<_> = events
            .iter()
            .enumerate()
            .map(|(seq, event)| event_text(seq, event).into_bytes())
            .collect();
        prop_assert_eq!(&expanded(&lines(&texts, true)), &texts);
        prop_assert_eq!(&expanded(&lines(&texts, false)), &texts);
        for run in runs(&texts) {
            prop_assert!(run.count >= SHORTEST_RUN);
        }
    }
}
