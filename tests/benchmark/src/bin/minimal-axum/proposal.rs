//! A proposal as this service knows it: JSON that holds the two required members, and what the
//! service knows about it.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use axum::http::StatusCode;
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

/// A request that is not done, and why.
#[derive(Debug)]
pub struct Refusal(pub StatusCode, pub String);

/// The required members, and those that the log's tables have in columns, whose values are skipped, too.
#[derive(Deserialize)]
struct Known<'a> {
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
        let known = read(&members)?;
        for (name, value) in
            [("proposal_type", &known.proposal_type), ("project_title", &known.project_title)]
        {
            if value.trim().is_empty() {
                let reason = format!("{name} is blank");
                return Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY, reason));
            }
        }
        let key =
            |value: &RawValue| value.get().trim_matches('"').chars().take(KEY_LENGTH).collect();
        let keys = [known.program_id, known.research_type, known.researcher_id, known.start_date];
        let keys = has_keys.then(|| keys.map(|value| value.map(key)));
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

fn read(text: &str) -> Result<Known<'_>, Refusal> {
    // serde would take a list in place of an object.
    if !text.trim_start().starts_with('{') {
        let reason = "a proposal is a JSON object".to_owned();
        return Err(Refusal(StatusCode::BAD_REQUEST, reason));
    }
    serde_json::from_str(text).map_err(|error| {
        let is_data = error.is_data();
        let status =
            if is_data { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
        Refusal(status, error.to_string())
    })
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
    use super::{Checked, Proposal, Refusal};

    fn checked(members: &str) -> Result<Checked, Refusal> {
        Checked::of(members.to_owned(), true)
    }

    #[test]
    fn both_required_members_must_say_something() {
        for (members, status) in [
            (r#"{"proposal_type":"R&D","project_title":"T\u0041","x":[1]}"#, None),
            (r#"{"proposal_type":"R&D"}"#, Some(422)),
            (r#"{"proposal_type":"R&D","project_title":" "}"#, Some(422)),
            ("", Some(400)),
            (r#"["a","b"]"#, Some(400)),
            (r#"{"proposal_type":"R&D","project_title":"T","x":[1}"#, Some(400)),
        ] {
            let refused = checked(members).err();
            assert_eq!(refused.map(|Refusal(status, _)| status.as_u16()), status, "{members}");
        }
    }

    #[test]
    fn a_proposal_is_json_and_its_keys_are_taken_out_of_its_members() {
        let members = r#"{"proposal_type":"R&D","project_title":"T","program_id":7,"start_date":"2026-01-01","x":[1]}"#;
        let (id, created_at, mut out) = (uuid::Uuid::nil(), "now", String::new());
        Proposal { id, version: 2, created_at, updated_at: "now", members }.push_json(&mut out);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&value["version"], &value["members"]["program_id"]), (&2.into(), &7.into()));
        let keys = checked(members).ok().and_then(|checked| checked.keys).unwrap();
        assert_eq!(keys.map(Option::unwrap_or_default), ["7", "", "", "2026-01-01"]);
    }
}
