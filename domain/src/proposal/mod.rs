//! The research proposal: the specification's 21 fields, and its rules in Rust.

mod field_types;
pub mod fields;
pub mod rules;

pub use field_types::{FieldKind, StringOrInteger, StringOrList, StringValue};
pub use fields::{FIELDS, Field, Proposal};

use validator::{Validate, ValidationErrors, ValidationErrorsKind};

use crate::{Collection, Members, Violation, Violations, nearest};

impl<'a> Proposal<'a> {
    /// Reads the fields of a proposal, which may be invalid.
    pub fn of(members: &'a Members) -> Self {
        Self::read(members, &mut Violations::default())
    }
}

pub fn judge(before: Option<&Members>, members: Members) -> Result<Members, Violations> {
    Collection::known("proposals").judge(before, members)
}

/// Requires members without `null`.
pub(crate) fn field_violations(members: &Members) -> Violations {
    let mut violations = Violations::default();
    if let Err(errors) = Proposal::read(members, &mut violations).validate() {
        let found: Vec<_> = validation_errors(&errors).collect();
        let sound = |violation: &Violation| !violations.concern(&[&violation.field]);
        let news: Vec<_> = found.into_iter().filter(sound).collect();
        violations.extend(news);
    }
    violations
}

pub(crate) fn unknown_fields(members: &Members) -> Violations {
    let mut violations = Violations::default();
    for (name, _) in
        members.iter().filter(|(name, _)| FIELDS.iter().all(|field| field.name != name))
    {
        violations.push_with(|| unknown_field(&name));
    }
    violations
}

fn unknown_field(name: &str) -> Violation {
    let fix = match nearest(name, FIELDS.iter().map(|field| field.name)) {
        Some(known) => format!("Did you mean `{known}`?"),
        None => "Remove it: a proposal has only the 21 fields of the interface.".to_owned(),
    };
    Violation::of_member(name, "unknown_field", format!("Unknown field. {fix}"))
}

/// Returns the errors in the order of the field table.
fn validation_errors(errors: &ValidationErrors) -> impl Iterator<Item = Violation> {
    FIELDS.iter().filter_map(|field| match errors.errors().get(field.name)? {
        ValidationErrorsKind::Field(errors) => {
            errors.first().map(|error| field.violation(&error.code))
        }
        _ => None,
    })
}
