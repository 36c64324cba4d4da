//! Notes on the expressions of a rule, taken while their places in the file are known.

use language::error::Location;
use language::expression::{DateUse, Expression, MemberRead, Variable, date};
use language::yaml::Scalar;

#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The members that they read. `id` is none.
    pub reads: Vec<NotedRead>,
    /// The places where a date is used as no date can be.
    pub dates: Vec<DateMisuse>,
}

#[derive(Debug)]
pub(crate) struct NotedRead {
    pub of: Variable,
    pub name: Box<str>,
    pub place: Location,
}

/// A use that makes no sense for a date.
#[derive(Debug)]
pub(crate) struct DateMisuse {
    /// The member that is used; `None` if the value is a date whatever the item.
    pub member: Option<(Variable, Box<str>)>,
    pub place: Location,
    pub reason: String,
}

impl Notes {
    /// Takes notes on an expression that begins at a byte of a scalar.
    pub fn add(&mut self, expression: &Expression, scalar: &Scalar, start: usize) {
        let reads = expression.reads().into_iter().filter(|read| read.name != "id");
        self.reads.extend(reads.map(|MemberRead { of, name, offset }| NotedRead {
            of,
            name: name.into(),
            place: scalar.place_of(start + offset),
        }));
        for DateUse { member, compared } in expression.date_uses() {
            let reason = match compared {
                Some(text) if date(text).is_some() => continue,
                Some(text) => format!(
                    "a date is compared with `{text}`, which is not a date; write it as YYYY-MM-DD"
                ),
                None => {
                    "a date takes no `+` or `-` with a number; write add_days(date, n)".to_owned()
                }
            };
            let offset = match (member, compared) {
                (Some(read), _) => read.offset,
                (None, Some(text)) => scalar.text.find(text).unwrap_or(start) - start,
                (None, None) => 0,
            };
            let member = member.map(|read| (read.of, read.name.into()));
            self.dates.push(DateMisuse { member, place: scalar.place_of(start + offset), reason });
        }
    }
}
