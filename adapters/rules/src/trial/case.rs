//! A trial as a case of a rule file.

use std::fmt::Write as _;

use application::TrialVerdict;
use domain::json::encode_string;
use domain::{Found, Item, ItemId, Members, Value, WriteContext};
use language::expression::{Shape, Variable};
use language::sample::made_up_id;

use super::given::Given;
use crate::file_format::{FAIL, PASS};
use crate::file_rule::FileRule;
use crate::sample_items::id_found_by;

/// Limit of a case: a file has at most 1 MiB.
const MOST_BYTES: usize = 256 << 10;

/// Writes the case in YAML, as an element of `cases`; `None` if it is too large. A rule that cannot
/// be evaluated has failed.
pub(super) fn written(
    rule: &FileRule,
    given: &Given,
    found: &[Found],
    (context, verdict): (&WriteContext, TrialVerdict),
    uses: impl Fn(Variable) -> bool,
) -> Option<String> {
    let results = results(rule, given, found)?;
    let of_items = results.iter().copied().flatten().map(|item| item.members.len()).sum::<usize>();
    let of_old = given.before.as_ref().map_or(0, |before| before.encoded().len());
    if given.after.encoded().len() + of_old + of_items > MOST_BYTES {
        return None;
    }
    let mut case = CaseText(format!(
        "- rule: {}\n  name: a trial of {today}\n  self:",
        rule.id,
        today = context.today
    ));
    let own_id = Some(given.id).filter(|id| *id != made_up_id(0));
    case.item("\n    ", [("id", own_id)], &given.after);
    if let Some(before) = &given.before {
        case.0.push_str("\n  old:");
        case.item("\n    ", [], before);
    }
    // Writing to a String cannot fail.
    let _ = write!(case.0, "\n  today: {}", context.today);
    if uses(Variable::Now) {
        let _ = write!(case.0, "\n  now: {}", context.now);
    }
    if let Some(caller) = context.caller.as_ref().filter(|_| uses(Variable::Caller)) {
        case.0.push_str("\n  caller:");
        case.item("\n    ", [], &caller.described);
    }
    if !rule.variables.is_empty() {
        case.0.push_str("\n  lookup:");
    }
    for (lookup, ((name, shape), items)) in rule.variables.iter().zip(results).enumerate() {
        let _ = write!(case.0, "\n    {name}:");
        case.results(*shape, lookup, items);
    }
    let expected = if verdict == TrialVerdict::Pass { PASS } else { FAIL };
    let _ = writeln!(case.0, "\n  expect: {expected}");
    Some(case.0).filter(|case| case.len() <= MOST_BYTES)
}

/// Returns the results of all lookups: of those that were not made, the given ones. `None` if one is
/// incomplete.
fn results<'a>(rule: &FileRule, given: &'a Given, found: &'a [Found]) -> Option<Vec<&'a [Item]>> {
    let result = |place: usize| match found.get(place).or(given.found[place].as_ref()) {
        None => Some(&[][..]),
        Some(Found::Items(items)) => Some(items.as_slice()),
        Some(Found::TooMany | Found::TooLarge) => None,
    };
    (0..rule.variables.len()).map(result).collect()
}

struct CaseText(String);

impl CaseText {
    fn results(&mut self, shape: Shape, lookup: usize, items: &[Item]) {
        match (shape, items) {
            (Shape::One, []) => self.0.push_str(" null"),
            (Shape::Many, []) => self.0.push_str(" []"),
            _ => {}
        }
        for (place, item) in items.iter().enumerate() {
            let line = if let Shape::One = shape { "\n      " } else { "\n        " };
            if let Shape::Many = shape {
                self.0.push_str("\n      -");
            }
            let members = Members::read(item.members.as_bytes()).ok().flatten().unwrap_or_default();
            let id = Some(item.id).filter(|id| *id != id_found_by(lookup, place));
            self.item(line, [("id", id), ("parent", item.parent)], &members);
        }
    }

    /// Writes a line for each member, its value as JSON, which is also YAML.
    fn item<const N: usize>(
        &mut self,
        line: &str,
        ids: [(&str, Option<ItemId>); N],
        members: &Members,
    ) {
        let start = self.0.len();
        for (name, id) in ids {
            if let Some(id) = id {
                self.0.extend([line, name, ": ", &id.to_string()]);
            }
        }
        for (name, value) in members.iter() {
            self.0.push_str(line);
            self.value(Value::from_encoded(&encode_string(&name)));
            self.0.push_str(": ");
            self.value(value);
        }
        if self.0.len() == start {
            self.0.push_str(" {}");
        }
    }

    /// YAML has fewer printable characters than JSON. The others are within strings.
    fn value(&mut self, value: Value<'_>) {
        for character in value.encoded().chars() {
            match character {
                '\u{7f}'..='\u{9f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{feff}'
                | '\u{fffe}'
                | '\u{ffff}' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(character));
                }
                _ => self.0.push(character),
            }
        }
    }
}
