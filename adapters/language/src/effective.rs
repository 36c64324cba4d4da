//! Period in which a definition applies: the key `effective` of rules and of policies.

use std::fmt;

use jiff::civil::Date;

use crate::error::ErrorCollector;
use crate::keys::{Form, Keys, Table, key};

pub static EFFECTIVE: Table = Table::closed("`effective`")
    .with(&[key("from", Form::Date, "The first day."), key("until", Form::Date, "The last day.")]);
/// Inclusive period of days. Either end may be open. Displays as "from … until …".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    pub from: Option<Date>,
    pub until: Option<Date>,
}

impl Effective {
    /// Reads the key `effective`. `kind` names the definition in messages: "rule". Without the key,
    /// and after an error, the period is unlimited.
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

    pub fn contains(self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day <= until)
    }

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
