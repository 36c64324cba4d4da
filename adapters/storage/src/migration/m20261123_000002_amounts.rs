//! Monthly sums of amounts of money. If the store has amounts, the index task restarts at the first
//! change of the log. An older service would not add the amounts that it indexes.

use crate::sql::dialect::Dialect;

pub(crate) fn statements(_: &Dialect) -> Vec<String> {
    let has_amounts = "EXISTS (SELECT 1 FROM items WHERE collection = 'cashprogram')";
    vec![
        format!("DELETE FROM value_counts WHERE {has_amounts}"),
        format!("UPDATE search_progress SET sequence = 0 WHERE {has_amounts}"),
        "UPDATE schema_version SET version = 3, oldest_writer = 3".to_owned(),
    ]
}
