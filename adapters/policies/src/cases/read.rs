use application::Caller;
use domain::{Operation, Operations};
use jiff::civil::{Date, date};
use language::error::{ErrorCollector, Location};
use language::keys::{self, Keys};
use language::yaml::Node;

use super::Case;
use super::sample::{self, SampleItem};
use crate::file_format::{ALLOW, CASE};
use crate::reading::keys_of;

/// Limit for the cases and matrix cells of all files together.
const MOST_CASES: usize = 10_000;
/// Limit for the callers and items of all cases together: aliases let a short file expand.
const MOST_BYTES: usize = 16 << 20;
const SOME_DAY: Date = date(2026, 1, 1);

/// Reads the members that a case expects to be hidden.
pub(super) fn hidden(node: &Node, errors: &mut ErrorCollector<'_>) -> Vec<String> {
    let elements = errors.take(keys::list(node, "hidden")).unwrap_or_default().iter();
    let mut hidden: Vec<_> = elements
        .filter_map(|element| errors.take(keys::string(element, "hidden")))
        .map(|scalar| scalar.text.clone())
        .collect();
    hidden.sort();
    hidden
}

#[derive(Debug, Default)]
pub(crate) struct CaseReader {
    pub cases: Vec<Case>,
    bytes: usize,
}

impl CaseReader {
    /// Returns `true` if the cases fit within the limit; adds an error otherwise.
    pub(super) fn has_space_for(
        &self,
        count: usize,
        node: &Node,
        errors: &mut ErrorCollector<'_>,
    ) -> bool {
        let has_space = self.cases.len().saturating_add(count) <= MOST_CASES;
        if !has_space {
            let reason = format!("more than {MOST_CASES} cases and cells of matrices; remove some");
            errors.add(node.place, reason);
        }
        has_space
    }

    pub(super) fn caller(
        &mut self,
        node: &Node,
        errors: &mut ErrorCollector<'_>,
    ) -> Option<Caller> {
        let caller = sample::caller(node, errors)?;
        let bytes = caller.principal().map_or(0, |caller| caller.described.encoded().len());
        self.count(bytes, node.place, errors).map(|()| caller)
    }

    pub(super) fn item(
        &mut self,
        keys: &Keys<'_>,
        errors: &mut ErrorCollector<'_>,
    ) -> Option<SampleItem> {
        let item = SampleItem::read(keys, errors)?;
        self.count(item.bytes, keys.place, errors).map(|()| item)
    }

    fn count(
        &mut self,
        bytes: usize,
        place: Location,
        errors: &mut ErrorCollector<'_>,
    ) -> Option<()> {
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            let reason = format!(
                "the callers and items of all cases have more than {MOST_BYTES} bytes in total"
            );
            errors.add(place, reason);
            return None;
        }
        Some(())
    }

    pub(super) fn day(keys: &Keys<'_>) -> Date {
        keys.date("today").unwrap_or(SOME_DAY)
    }

    pub fn cases(&mut self, keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
        for node in keys.elements("cases") {
            if !self.has_space_for(1, node, errors) {
                return;
            }
            let case = self.case(node, errors);
            self.cases.extend(case);
        }
    }

    fn case(&mut self, node: &Node, errors: &mut ErrorCollector<'_>) -> Option<Case> {
        let keys = keys_of(node, &CASE, &[], errors)?;
        let caller = keys.get("caller").and_then(|node| self.caller(node, errors));
        let item = self.item(&keys, errors);
        let (caller, item) = (caller?, item?);
        let operation = Operation::named(keys.string("operation")?)?;
        let is_allowed = keys.string("expect")? == ALLOW;
        Some(Case {
            file: errors.file().clone(),
            place: node.place,
            name: keys.string("name")?.into(),
            caller,
            item,
            today: Self::day(&keys),
            operation: Some(operation),
            hidden: keys.get("hidden").map(|node| hidden(node, errors)),
            expected: if is_allowed { [operation].into_iter().collect() } else { Operations::NONE },
        })
    }
}
