//! A proposal as this service knows it: JSON that holds the two required members, and what the
//! service knows about it.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

/// A stored proposal. SQLite keeps times as text, PostgreSQL as times.
pub struct Proposal<'a, T> {
    pub id: Uuid,
    pub version: i64,
    pub created_at: T,
    pub updated_at: T,
    pub members: &'a str,
}

const KEY_LENGTH: usize = 200;

pub enum Refusal {
    NotJson(String),
    Incomplete(String),
}

#[derive(Deserialize)]
struct Required<'a> {
    #[serde(borrow)]
    proposal_type: Cow<'a, str>,
    #[serde(borrow)]
    project_title: Cow<'a, str>,
}

/// The same with the members that the log's tables have in columns, whose values are skipped, too.
#[derive(Deserialize)]
struct Indexed<'a> {
    #[serde(borrow)]
    proposal_type: Cow<'a, str>,
    #[serde(borrow)]
    project_title: Cow<'a, str>,
    #[serde(borrow)]
    program_id: Option<&'a RawValue>,
    #[serde(borrow)]
    research_type: Option<&'a RawValue>,
    #[serde(borrow)]
    researcher_id: Option<&'a RawValue>,
    #[serde(borrow)]
    start_date: Option<&'a RawValue>,
}

/// The values of the indexed members: strings without their marks, and numbers as they are written.
pub type Keys = [Option<String>; 4];

pub struct Checked {
    pub members: String,
    pub keys: Option<Keys>,
}

impl Checked {
    pub fn of(members: String, has_keys: bool) -> Result<Self, Refusal> {
        let keys = if has_keys {
            Some(check_and_index(&members)?)
        } else {
            check_members(&members)?;
            None
        };
        Ok(Self { members, keys })
    }
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

fn check_members(text: &str) -> Result<(), Refusal> {
    let Required { proposal_type, project_title } = read(text)?;
    check_required([("proposal_type", &proposal_type), ("project_title", &project_title)])
}

fn check_and_index(text: &str) -> Result<Keys, Refusal> {
    let read: Indexed<'_> = read(text)?;
    check_required([
        ("proposal_type", &read.proposal_type),
        ("project_title", &read.project_title),
    ])?;
    let key = |value: &RawValue| value.get().trim_matches('"').chars().take(KEY_LENGTH).collect();
    let keys = [read.program_id, read.research_type, read.researcher_id, read.start_date];
    Ok(keys.map(|value| value.map(key)))
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Refusal> {
    // serde would take a list in place of an object.
    if !text.trim_start().starts_with('{') {
        return Err(Refusal::NotJson("a proposal is a JSON object".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        if error.is_data() { Refusal::Incomplete(reason) } else { Refusal::NotJson(reason) }
    })
}

fn check_required(members: [(&str, &str); 2]) -> Result<(), Refusal> {
    let blank = members.into_iter().find(|(_, value)| value.trim().is_empty());
    blank.map_or(Ok(()), |(name, _)| Err(Refusal::Incomplete(format!("{name} is blank"))))
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
    use super::{Checked, Proposal, Refusal, check_members};

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

    #[test]
    fn keys_are_taken_out_of_the_members() {
        let members = r#"{"proposal_type":"R&D","project_title":"T","program_id":7,"start_date":"2026-01-01","x":[1]}"#;
        let checked = Checked::of(members.to_owned(), true);
        let keys = checked.ok().and_then(|checked| checked.keys).unwrap();
        let keys = keys.map(Option::unwrap_or_default);
        assert_eq!(keys, ["7", "", "", "2026-01-01"]);
    }
}
