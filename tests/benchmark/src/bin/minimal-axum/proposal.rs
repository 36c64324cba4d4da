//! What a proposal is here: a text of JSON that holds the two required members, and what the
//! service knows about it.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

/// A stored proposal. SQLite keeps times as text, PostgreSQL as times.
pub struct Proposal<'a, T> {
    pub id: Uuid,
    pub version: i64,
    pub created_at: T,
    pub updated_at: T,
    pub members: &'a str,
}

/// Why a body is not taken.
pub enum Refusal {
    NotJson(String),
    Incomplete(String),
}

/// The members without which there is no proposal; serde checks the syntax of the others and skips
/// them.
#[derive(Deserialize)]
struct Required<'a> {
    #[serde(borrow)]
    proposal_type: Cow<'a, str>,
    #[serde(borrow)]
    project_title: Cow<'a, str>,
}

impl<T: Display> Proposal<'_, T> {
    /// Appends the proposal as a client sees it. The members are the text that was checked when it
    /// came, so it is not parsed again.
    pub fn push_json(&self, out: &mut String) {
        let Self { id, version, created_at, updated_at, members } = self;
        out.reserve(members.len() + 256);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            r#"{{"id":"{id}","version":{version},"created_at":"{created_at}","updated_at":"{updated_at}","members":{members}}}"#
        );
    }
}

/// Whether a text is a proposal's members.
pub fn check_members(text: &str) -> Result<(), Refusal> {
    // serde would take a list in place of an object.
    if !text.trim_start().starts_with('{') {
        return Err(Refusal::NotJson("a proposal is a JSON object".to_owned()));
    }
    let required: Required<'_> = serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        if error.is_data() { Refusal::Incomplete(reason) } else { Refusal::NotJson(reason) }
    })?;
    for (name, value) in
        [("proposal_type", required.proposal_type), ("project_title", required.project_title)]
    {
        if value.trim().is_empty() {
            return Err(Refusal::Incomplete(format!("{name} is blank")));
        }
    }
    Ok(())
}

/// An id in creation order, so that new rows go to the end of the index.
pub fn new_id() -> Uuid {
    #[expect(clippy::disallowed_methods, reason = "this program has no ports")]
    Uuid::now_v7()
}

/// The time in microseconds, which is what PostgreSQL keeps.
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this program has no ports")]
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::{Proposal, Refusal, check_members};

    #[test]
    fn both_required_members_must_say_something() {
        assert!(
            check_members(r#"{"proposal_type":"R&D","project_title":"T\u0041","x":[1]}"#).is_ok()
        );
        for incomplete in
            [r#"{"proposal_type":"R&D"}"#, r#"{"proposal_type":"R&D","project_title":" "}"#]
        {
            assert!(
                matches!(check_members(incomplete), Err(Refusal::Incomplete(_))),
                "{incomplete}"
            );
        }
        for not_json in
            ["", "[\"a\",\"b\"]", r#"{"proposal_type":"R&D","project_title":"T","x":[1}"#]
        {
            assert!(matches!(check_members(not_json), Err(Refusal::NotJson(_))), "{not_json}");
        }
    }

    #[test]
    fn a_proposal_is_json() {
        let mut out = String::new();
        let proposal = Proposal {
            id: uuid::Uuid::nil(),
            version: 2,
            created_at: "now",
            updated_at: "now",
            members: r#"{"a":1}"#,
        };
        proposal.push_json(&mut out);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&value["version"], &value["members"]["a"]), (&2.into(), &1.into()));
    }
}
