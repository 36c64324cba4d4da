//! Policies about items, and the items that decide which proposals a caller reads.

use serde_json::{Value, json};

use crate::arguments::Extra;
use crate::callers;

/// Each of them reads 384 or 385 of 10,000 proposals, or all that are approved.
pub(super) const CALLERS: usize = 26;

/// Returns the file, if the extra has policies.
pub(super) fn file(extra: Extra) -> Option<String> {
    let (lookup, when) = match extra {
        Extra::Own => (None, "meta.created_by == caller.id"),
        Extra::Assigned => (
            Some(json!({"sheets": "gadscores[proposal_id = self.id]"})),
            "sheets.exists(sheet, sheet.evaluator_id == caller.id)",
        ),
        Extra::Approved => (
            Some(json!({"steps": "status[subject = self.id]"})),
            "latest(steps).to_code == \"approved\"",
        ),
        _ => return None,
    };
    let groups = ["proposals", "gadscores", "status"];
    let mut reading = json!({
        "id": "reading", "group": "proposals", "allow": ["read"], "to": ["signed_in"], "when": when,
    });
    if let Some(lookup) = lookup {
        reading["lookup"] = lookup;
    }
    let filling =
        json!({"id": "filling", "group": groups, "allow": ["create"], "to": ["signed_in"]});
    Some(json!({"policies": [filling, reading]}).to_string())
}

/// Returns whether a caller reads the proposal of this number.
pub(super) const fn is_read(extra: Extra, number: usize) -> bool {
    !matches!(extra, Extra::Approved) || !number.is_multiple_of(5)
}

/// Returns the path and the body of the item that decides who reads a proposal.
pub(super) fn deciding(
    extra: Extra,
    number: usize,
    proposal: &str,
) -> Option<(&'static str, Value)> {
    match extra {
        Extra::Assigned => {
            let evaluator = callers::id(number % CALLERS);
            let sheet = json!({"proposal_id": proposal, "evaluator_id": evaluator});
            Some(("/v1/gadscores", sheet))
        }
        Extra::Approved => {
            let code = if is_read(extra, number) { "approved" } else { "submitted" };
            Some(("/status", json!({"subject": proposal, "to_code": code})))
        }
        _ => None,
    }
}
