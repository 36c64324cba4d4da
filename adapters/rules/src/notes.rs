//! Notes on the expressions of a rule, with their positions in the file.

use language::Lookups;
use language::error::Location;
use language::expression::{DateUse, Expression, MemberRead, Variable, date};
use language::yaml::Scalar;

#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub reads: Vec<NotedRead>,
    pub dates: Vec<DateMisuse>,
}

#[derive(Debug)]
pub(crate) struct NotedRead {
    pub of: Variable,
    pub name: Box<str>,
    pub place: Location,
}

#[derive(Debug)]
pub(crate) struct DateMisuse {
    pub member: Option<(Variable, Box<str>)>,
    pub place: Location,
    pub reason: String,
}

impl Notes {
    pub fn of_keys(lookups: &Lookups<'_>) -> Self {
        let mut notes = Self::default();
        for ((_, target), text) in lookups.targets.iter().zip(&lookups.texts) {
            notes.add(&target.value, text, target.offset);
        }
        notes
    }

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
                None => "a date does not support `+` or `-` with a number; write add_days(date, n)"
                    .to_owned(),
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
