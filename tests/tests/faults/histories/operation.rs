//! One item as the contract describes it: the answer to each call, and the state after it.

use std::fmt::{Display, Formatter, Result};
use std::time::Duration;

/// Values of the members [`NAMES`]; 0 is an absent member.
pub type Members = [u32; 2];

pub const NAMES: [&str; 2] = ["a", "b"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The number of writes so far, with deletions.
    pub version: u32,
    /// `None` after a deletion.
    pub members: Option<Members>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Read,
    Replace(Members),
    /// Sets one member by a merge patch; 0 removes it.
    Patch(usize, u32),
    Delete,
    /// Restores a version, whose members another answer has shown.
    Restore(u32, Members),
}

/// The parts of a response that the contract determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The version in the entity tag, if there is one.
    pub version: Option<u32>,
    pub members: Option<Members>,
}

/// A call of a client, with times since the beginning of its history.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The `X-Request-Id`.
    pub id: String,
    pub call: Call,
    /// The version in `If-Match`, or in `If-None-Match` of a read.
    pub condition: Option<u32>,
    pub start: Duration,
    /// [`Duration::MAX`] without an answer: the call can take effect at any later time, or never.
    pub end: Duration,
    pub answer: Option<Answer>,
}

impl State {
    /// The answer to a call that takes effect now, and the next state.
    pub fn respond(self, call: Call, condition: Option<u32>) -> (Answer, Self) {
        let version = Some(self.version);
        let unchanged = |status, version, members| (Answer { status, version, members }, self);
        let written = |status, members| {
            let next = Self { version: self.version + 1, members };
            let version = members.map(|_| next.version);
            (Answer { status, version, members }, next)
        };
        let Some(current) = self.members else {
            return match (call, condition) {
                (Call::Restore(_, members), None) => written(201, Some(members)),
                (Call::Restore(..), Some(_)) => unchanged(412, None, None),
                _ => unchanged(404, None, None),
            };
        };
        match call {
            Call::Read if condition == version => unchanged(304, version, None),
            Call::Read => unchanged(200, version, self.members),
            _ if condition.is_some() && condition != version => unchanged(412, version, None),
            Call::Replace(members) | Call::Restore(_, members) => written(200, Some(members)),
            Call::Patch(member, value) if current[member] == value => {
                unchanged(200, version, self.members)
            }
            Call::Patch(member, value) => {
                let mut members = current;
                members[member] = value;
                written(200, Some(members))
            }
            Call::Delete => written(204, None),
        }
    }
}

impl Operation {
    /// The highest version before it took effect, as far as its answer proves one.
    pub fn latest_before(&self) -> u32 {
        let Some(Answer { status, version, .. }) = self.answer else { return u32::MAX };
        match (self.call, status) {
            (Call::Replace(_) | Call::Restore(..), 200 | 201) => version.map(|version| version - 1),
            (Call::Delete, 204) => self.condition,
            _ => version,
        }
        .unwrap_or(u32::MAX)
    }
}

impl Call {
    /// Method, path below the item, and body.
    pub fn request(self) -> (&'static str, String, String) {
        let nothing = String::new;
        match self {
            Self::Read => ("GET", nothing(), nothing()),
            Self::Replace(members) => ("PUT", nothing(), json(members)),
            Self::Patch(member, 0) => {
                ("PATCH", nothing(), format!("{{\"{}\":null}}", NAMES[member]))
            }
            Self::Patch(member, value) => {
                ("PATCH", nothing(), format!("{{\"{}\":{value}}}", NAMES[member]))
            }
            Self::Delete => ("DELETE", nothing(), nothing()),
            Self::Restore(version, _) => ("POST", format!("/versions/{version}"), nothing()),
        }
    }
}

/// The JSON object of members.
pub fn json(members: Members) -> String {
    let present = NAMES.iter().zip(members).filter(|(_, value)| *value != 0);
    let present: Vec<_> = present.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", present.join(","))
}

impl Display for State {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let members = self.members.map_or_else(|| "deleted".to_owned(), json);
        write!(formatter, "version {} {members}", self.version)
    }
}

impl Display for Answer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let version = self.version.map_or_else(String::new, |it| format!(" version {it}"));
        let members = self.members.map_or_else(String::new, |it| format!(" {}", json(it)));
        write!(formatter, "{}{version}{members}", self.status)
    }
}

impl Display for Operation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let (method, path, body) = self.call.request();
        let text = |answer: Answer| (format!("{:.4}", self.end.as_secs_f64()), answer.to_string());
        let unknown = || (String::new(), "unknown".to_owned());
        let (end, answer) = self.answer.map_or_else(unknown, text);
        let condition = self.condition.map_or_else(String::new, |it| format!(" if {it}"));
        let (start, id) = (self.start.as_secs_f64(), &self.id);
        write!(
            formatter,
            "{start:9.4} to {end:9} {id:12} {method}{path} {body}{condition} → {answer}"
        )
    }
}
