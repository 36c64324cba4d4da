use std::sync::Arc;

use domain::Collection;
use domain::proposal::{FIELDS, FieldKind};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    pub subject: Subject,
    pub condition: Condition,
}

impl Filter {
    /// Selects the items whose member is a text, or a number of the same value; `None` if there are
    /// none.
    pub(crate) fn equal(collection: Collection, name: &str, value: &str) -> Option<Self> {
        let field = FIELDS.iter().filter(|_| !collection.is_open()).find(|it| it.name == name);
        let subject = Subject::Member { name: name.into(), kind: field.map(|field| field.kind) };
        let operand = Operand::read(&subject, value).ok()?;
        let is_storable = !name.contains('\0') && !value.contains('\0');
        let condition = Condition::Compare(Comparison::Equal, operand);
        is_storable.then_some(Self { subject, condition })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The identifier; only in an order.
    Id,
    CreatedAt,
    UpdatedAt,
    /// The search score; only in an order.
    Score,
    Member {
        name: Arc<str>,
        /// The kind of its values; `None` for any.
        kind: Option<FieldKind>,
    },
}

/// A condition on a subject. A list meets a condition when one of its elements does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// A comparison with a value of the same type.
    Compare(Comparison, Operand),
    In(Vec<Operand>),
    /// A string that contains this one, ignoring case.
    Contains(Arc<str>),
    /// True: present and not `null`. False: absent or `null`.
    Exists(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    /// The stored value is present and different; of a list, every element is.
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A value in each type that a stored value may have. A query string has no types: `7` means the
/// number and the text, `14.50` the number, `true` the boolean and the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Compares with strings, by code point.
    pub text: Option<Arc<str>>,
    /// Compares with numbers, as a JSON number. Times are microseconds since the epoch.
    pub number: Option<Arc<str>>,
    pub boolean: Option<bool>,
}

impl Operand {
    /// Parses a value of the subject's type. The error names the accepted values.
    pub fn read(subject: &Subject, written: &str) -> Result<Self, &'static str> {
        match subject {
            Subject::CreatedAt | Subject::UpdatedAt => {
                let wanted = "a time such as 2026-01-31T08:00:00Z, or a day such as 2026-01-31";
                let time = time(written).ok_or(wanted)?;
                Ok(Self {
                    number: Some(time.as_microsecond().to_string().into()),
                    ..Self::default()
                })
            }
            Subject::Member { kind: Some(FieldKind::Date), .. } => {
                let is_day = written.len() == 10 && written.parse::<Date>().is_ok();
                is_day.then(|| Self::text(written)).ok_or("a day such as 2026-01-31")
            }
            Subject::Member { kind: Some(FieldKind::String | FieldKind::StringOrList), .. } => {
                Ok(Self::text(written))
            }
            _ => Ok(Self::of_any_type(written)),
        }
    }

    fn text(written: &str) -> Self {
        Self { text: Some(written.into()), ..Self::default() }
    }

    fn of_any_type(written: &str) -> Self {
        let is_number = is_number(written);
        let is_integer = is_number && !written.contains(['.', 'e', 'E']);
        Self {
            text: (!is_number || is_integer).then(|| written.into()),
            number: is_number.then(|| written.into()),
            boolean: written.parse().ok(),
        }
    }
}

fn is_number(written: &str) -> bool {
    let is_json = written.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && domain::json::read(written.as_bytes()).is_ok_and(|read| read.text == written);
    is_json && domain::json::is_storable_number(written)
}

/// Parses an RFC 3339 time, or a day as its first moment in UTC.
fn time(written: &str) -> Option<Timestamp> {
    let day = || written.parse::<Date>().ok().filter(|_| written.len() == 10);
    let moment = || written.parse::<Timestamp>().ok();
    // A plus sign that was not percent-encoded arrives as a space.
    let fixed = || written.replacen(' ', "+", 1).parse::<Timestamp>().ok();
    day()
        .and_then(|day| day.to_zoned(TimeZone::UTC).ok())
        .map(|zoned| zoned.timestamp())
        .or_else(moment)
        .or_else(fixed)
}

#[cfg(test)]
mod tests {
    use domain::proposal::FieldKind;

    use super::{Operand, Subject};

    #[test]
    fn a_value_is_read_as_every_type_that_its_field_may_have() {
        for (kind, written, expected) in [
            (FieldKind::String, "14.50", Some((Some("14.50"), None, None))),
            (FieldKind::StringOrInteger, "7", Some((Some("7"), Some("7"), None))),
            (FieldKind::Date, "2026-02-28", Some((Some("2026-02-28"), None, None))),
            (FieldKind::Date, "2026-02-30", None),
            (FieldKind::Date, "2026", None),
        ] {
            let member = Subject::Member { name: "x".into(), kind: Some(kind) };
            let read = Operand::read(&member, written).ok();
            let read = read.as_ref().map(|operand| {
                (operand.text.as_deref(), operand.number.as_deref(), operand.boolean)
            });
            assert_eq!(read, expected, "{written} as {kind:?}");
        }
    }

    #[test]
    fn times_are_compared_to_the_microsecond() {
        for (written, expected) in [
            ("1970-01-01T00:00:01.000002Z", Some("1000002")),
            ("1970-01-01T02:00:00+02:00", Some("0")),
            ("1970-01-01T02:00:00 02:00", Some("0")),
            ("1970-01-02", Some("86400000000")),
            ("1970-01-32", None),
            ("yesterday", None),
            ("0", None),
        ] {
            let read = Operand::read(&Subject::UpdatedAt, written).ok();
            assert_eq!(
                read.as_ref().and_then(|operand| operand.number.as_deref()),
                expected,
                "{written}"
            );
        }
    }
}
