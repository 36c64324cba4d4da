//! Converts `matrix:` to one case per cell.

use application::Caller;
use jiff::civil::Date;
use language::error::ErrorCollector;
use language::keys::{self, Keys};
use language::yaml::Node;

use super::sample::SampleItem;
use super::{Case, CaseReader};
use crate::file_format::{ITEM, MATRIX, NAMED};
use crate::reading::{keys_of, operations};

type ByName<'a, T> = Vec<(&'a str, Option<T>)>;

impl CaseReader {
    pub fn matrix(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        let Some(node) = keys.get("matrix") else { return };
        let Some(keys) = Keys::of(node, &MATRIX, Some(&[]), errors) else { return };
        let callers = by_name(&keys, "callers", errors, |node, errors| self.caller(node, errors));
        let items = by_name(&keys, "items", errors, |node, errors| {
            let keys = keys_of(node, &ITEM, &[], errors)?;
            self.item(&keys, errors)
        });
        let (Some(callers), Some(items)) = (callers, items) else { return };
        if !self.has_space_for(callers.len().saturating_mul(items.len()), node, errors) {
            return;
        }
        let Some(expect) = keys.get("expect") else { return };
        let names: Vec<_> = callers.iter().map(|(name, _)| *name).collect();
        let Some(rows) = Keys::of(expect, &NAMED, Some(&names), errors) else { return };
        let today = Self::day(&keys);
        let hidden =
            keys.get("hidden").and_then(|node| Keys::of(node, &NAMED, Some(&names), errors));
        for (name, caller) in &callers {
            let Some(row) = rows.get(name) else {
                let cells: Vec<_> = items.iter().map(|(item, _)| format!("{item}: []")).collect();
                let reason = format!(
                    "`expect` has no entry for `{name}`; add `{name}: {{{}}}` with the allowed operations",
                    cells.join(", ")
                );
                errors.add(expect.place, reason);
                continue;
            };
            let hidden = hidden.as_ref().and_then(|hidden| hidden.get(name));
            let cells = Cells { today, caller_name: name, caller: caller.as_ref(), hidden };
            cells.read(row, &items, errors, &mut self.cases);
        }
    }
}

struct Cells<'a> {
    today: Date,
    caller_name: &'a str,
    caller: Option<&'a Caller>,
    hidden: Option<&'a Node>,
}

impl Cells<'_> {
    fn read(
        &self,
        row: &Node,
        items: &ByName<'_, SampleItem>,
        errors: &mut ErrorCollector<'_>,
        cases: &mut Vec<Case>,
    ) {
        let names: Vec<_> = items.iter().map(|(name, _)| *name).collect();
        let Some(cells) = Keys::of(row, &NAMED, Some(&names), errors) else { return };
        let caller_name = self.caller_name;
        let hidden = self.hidden.and_then(|node| Keys::of(node, &NAMED, Some(&names), errors));
        for (name, item) in items {
            let Some(cell) = cells.get(name) else {
                let reason = format!(
                    "`expect` has no entry for `{caller_name}` and `{name}`; add `{name}: []` with the allowed operations"
                );
                errors.add(row.place, reason);
                continue;
            };
            let expected = operations(cell, name, errors);
            let hidden = hidden.as_ref().and_then(|hidden| hidden.get(name));
            let hidden = hidden.map(|node| super::read::hidden(node, errors));
            let (Some(caller), Some(item)) = (self.caller, item) else { continue };
            cases.push(Case {
                file: errors.file().clone(),
                place: cell.place,
                name: format!("{caller_name}, {name}").into(),
                caller: caller.clone(),
                item: item.clone(),
                today: self.today,
                operation: None,
                expected,
                hidden: Some(hidden.unwrap_or_default()),
            });
        }
    }
}

/// Reads the mapping of a key; `None` without it. An invalid value keeps its name, so that the
/// table may refer to it.
fn by_name<'a, T>(
    keys: &Keys<'a>,
    key: &str,
    errors: &mut ErrorCollector<'_>,
    mut read: impl FnMut(&Node, &mut ErrorCollector<'_>) -> Option<T>,
) -> Option<ByName<'a, T>> {
    let node = keys.get(key)?;
    let entries = errors.take(keys::entries(node, &format!("`{key}`")))?;
    Some(entries.iter().map(|entry| (entry.key.as_str(), read(&entry.value, errors))).collect())
}
