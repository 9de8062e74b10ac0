use proptest::prelude::*;

use super::*;
use crate::history::registry::Registry;

fn filled(times: &[i64]) -> std::sync::Arc<Database> {
    let database = Registry::new().database(":memory:").unwrap();
    database
        .write(|conn| {
            for (at, time) in times.iter().enumerate() {
                conn.execute(
                    "INSERT INTO history (prompt, created_at, cwd) VALUES (?1, ?2, ?3)",
                    params![format!("p{at}"), time, (at % 2 == 0).then_some("/c")],
                )?;
            }
            Ok(())
        })
        .unwrap();
    database
}

/// Ids of the rows in the order that they should have.
fn expected(times: &[i64]) -> Vec<i64> {
    let mut rows: Vec<(i64, i64)> = times.iter().copied().zip(1..).collect();
    rows.sort_by(|left, right| right.cmp(left));
    rows.into_iter().map(|(_, id)| id).collect()
}

fn ids(entries: &[Entry]) -> Vec<i64> {
    entries.iter().map(|entry| entry.id).collect()
}

#[test]
fn limits_are_those_of_javascript_numbers() {
    let cases = [
        (f64::NAN, 0),
        (f64::INFINITY, 0),
        (f64::NEG_INFINITY, 0),
        (-1.0, 0),
        (0.9, 0),
        (1.9, 1),
        (1000.0, 1000),
        (1e300, 1000),
    ];
    for (limit, rows) in cases {
        assert_eq!(rows_asked_for(limit), rows, "{limit}");
    }
}

#[test]
fn values_of_other_types_are_readable() {
    let database = filled(&[]);
    database
        .write(|conn| {
            conn.execute_batch(
                "INSERT INTO history (prompt, created_at, cwd) VALUES (x'ff41', 1.5, 7), ('ok', 'x', '');",
            )
        })
        .unwrap();
    let entries = recent(&database, 9).unwrap();
    let json = String::from_utf8(to_json(&entries)).unwrap();
    assert_eq!(json, "[[2,\"ok\",0,\"\"],[1,\"\u{fffd}A\",1,\"7\"]]");
}

#[test]
fn no_rows_are_an_empty_array() {
    assert_eq!(recent(&filled(&[]), 5).unwrap(), []);
    assert_eq!(recent(&filled(&[1]), 0).unwrap(), []);
    assert_eq!(to_json(&[]), b"[]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_newest_come_first(times in prop::collection::vec(0..5_i64, 0..30), limit in 1..35_usize) {
        let database = filled(&times);
        let mut order = expected(&times);
        order.truncate(limit);
        prop_assert_eq!(ids(&recent(&database, limit).unwrap()), order);
    }

    #[test]
    fn chosen_rows_have_the_same_order(
        times in prop::collection::vec(0..5_i64, 1..30),
        chosen in prop::collection::btree_set(1..40_i64, 0..30),
        limit in 1..35_usize,
    ) {
        let database = filled(&times);
        let chosen: Vec<i64> = chosen.into_iter().collect();
        let mut order = expected(&times);
        order.retain(|id| chosen.contains(id));
        order.truncate(limit);
        let (few, many, rows) = database
            .read(|conn| {
                Ok((
                    order_few(conn, &chosen)?,
                    order_many(conn, &chosen, limit)?,
                    newest_of(conn, &chosen, limit)?,
                ))
            })
            .unwrap();
        prop_assert_eq!(&few[..order.len()], &order[..]);
        prop_assert_eq!(&many[..order.len()], &order[..]);
        prop_assert_eq!(ids(&rows), order);
    }
}

#[test]
fn the_order_by_time_comes_from_the_index() {
    let database = filled(&[1, 2]);
    let plan_of = |statement: &str| -> String {
        database
            .read(|conn| {
                conn.prepare(&format!("EXPLAIN QUERY PLAN {statement}"))?
                    .query_map([], |row| row.get::<_, String>(3))?
                    .collect::<rusqlite::Result<Vec<_>>>()
            })
            .unwrap()
            .join("; ")
    };
    for statement in [
        "SELECT created_at, id FROM history ORDER BY created_at DESC",
        "SELECT created_at FROM history ORDER BY created_at DESC LIMIT 1 OFFSET 9",
        "SELECT id, prompt FROM history WHERE created_at = 1 ORDER BY id DESC LIMIT 5",
    ] {
        let plan = plan_of(statement);
        assert!(plan.contains("idx_history_created_at"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
