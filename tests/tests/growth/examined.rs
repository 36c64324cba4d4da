//! The statements of a page, and the rows that they examine, by the plans that `auto_explain` sends to
//! the service, which logs them.

use serde_json::{Deserializer, Value};
use tests::stores::TestDatabase;

/// The settings of a database whose connections get the plan of each of their statements, with counts.
const SETTINGS: [(&str, &str); 6] = [
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_timing", "off"),
    ("auto_explain.log_format", "json"),
    ("client_min_messages", "log"),
];

/// The level of these plans.
pub const LOG: [&str; 2] = ["--log", "info,sqlx::postgres::notice=trace"];

/// The tables whose size depends on the number of items. Statements on others are not those of pages.
const GROWING: [&str; 5] = ["items", "changes", "search_index", "totals", "value_counts"];

/// The beginning of a statement of the index, which also runs between requests.
const BETWEEN_REQUESTS: &str = "-- The progress of the full-text index";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    pub statements: u64,
    pub rows: u64,
}

pub fn explain(database: &TestDatabase) {
    for (setting, value) in SETTINGS {
        database.set(setting, value);
    }
}

/// Adds up the plans in a part of the log.
pub fn examined(log: &str) -> Examined {
    let mut sum = Examined::default();
    for part in log.split(" plan:\n").skip(1) {
        let plan = Deserializer::from_str(part).into_iter::<Value>().next();
        let plan = plan.expect("a plan").expect("a plan in JSON");
        let is_of_a_page =
            plan["Query Text"].as_str().is_some_and(|it| !it.starts_with(BETWEEN_REQUESTS));
        let rows = rows(&plan["Plan"]);
        if let (true, Some(rows)) = (is_of_a_page, rows) {
            sum.statements += 1;
            sum.rows += rows;
        }
    }
    sum
}

/// The rows and index entries that a node and those below it read; `None` without a growing table.
fn rows(node: &Value) -> Option<u64> {
    let number = |name: &str| node[name].as_f64().unwrap_or_default();
    let of = |name: &str| node[name].as_str().unwrap_or_default();
    // A bitmap names its index alone.
    let is_bitmap = GROWING.iter().any(|name| of("Index Name").starts_with(name))
        && of("Node Type") == "Bitmap Index Scan";
    let is_growing = GROWING.contains(&of("Relation Name")) || is_bitmap;
    let read = number("Actual Rows")
        + number("Rows Removed by Filter")
        + number("Rows Removed by Index Recheck");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of rows")]
    let read = (read * number("Actual Loops")).ceil() as u64;
    let own = is_growing.then_some(read);
    let below = node["Plans"].as_array().into_iter().flatten().filter_map(rows);
    own.into_iter().chain(below).reduce(|one, other| one + other)
}
