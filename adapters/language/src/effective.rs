//! The days on which a definition counts: the key `effective` of rules and of policies.

use std::fmt;

use jiff::civil::Date;

use crate::error::ErrorCollector;
use crate::keys::{Form, Keys, Table, key};

/// The table of the key `effective`.
pub static EFFECTIVE: Table = Table::closed("`effective`")
    .with(&[key("from", Form::Date, "The first day."), key("until", Form::Date, "The last day.")]);
/// The days from one to another, both included; either end may be open. It displays as "from … until
/// …".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    /// The first day.
    pub from: Option<Date>,
    /// The last day.
    pub until: Option<Date>,
}

impl Effective {
    /// Reads the key `effective` of a definition, which messages call by its kind: "rule". Without
    /// the key, and where it has an error, all days.
    pub fn read(keys: &Keys<'_>, kind: &str, errors: &mut ErrorCollector<'_>) -> Self {
        let node = keys.get("effective");
        let dates = node.and_then(|node| Keys::of(node, &EFFECTIVE, Some(&[]), errors));
        let Some(dates) = dates else { return Self::default() };
        let (from, until) = (dates.date("from"), dates.date("until"));
        if let (Some(first), Some(last)) = (from, until)
            && last < first
        {
            errors.add(dates.place, format!("the {kind} would end on {last}, before it begins on {first}; correct one of the two dates"));
        }
        Self { from, until }
    }

    /// Returns `true` if a day is among them.
    pub fn contains(self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day <= until)
    }

    /// Returns `true` if all days are.
    pub const fn is_always(self) -> bool {
        self.from.is_none() && self.until.is_none()
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.until) {
            (None, None) => formatter.write_str("always"),
            (Some(from), None) => write!(formatter, "from {from}"),
            (None, Some(until)) => write!(formatter, "until {until}"),
            (Some(from), Some(until)) => write!(formatter, "from {from} until {until}"),
        }
    }
}
