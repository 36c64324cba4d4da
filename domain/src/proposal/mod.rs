//! The research proposal: the typed resource with the specification's 21 fields.

mod field_types;
pub mod fields;
pub mod rules;

pub use field_types::{FieldKind, StringOrInteger, StringOrList, StringValue};
pub use fields::{FIELDS, Field, Proposal};

use validator::{Validate, ValidationErrors, ValidationErrorsKind};

use crate::{Members, Resource, Rule, Violation, Violations, nearest};

impl Resource for Proposal {
    fn rules() -> &'static [&'static dyn Rule<Self>] {
        rules::RULES
    }

    fn draft(members: Members) -> (Self, Violations) {
        let mut violations = Self::unknown(&members);
        let members = members.retain(|_, value| !value.is_null());
        let proposal = Self::read_fields(members, &mut violations);
        if let Err(errors) = proposal.validate() {
            let found: Vec<_> = field_violations(&errors).collect();
            let sound = |violation: &Violation| !violations.concern(&[&violation.field]);
            let news: Vec<_> = found.into_iter().filter(sound).collect();
            violations.extend(news);
        }
        (proposal, violations)
    }

    fn unknown(members: &Members) -> Violations {
        let mut violations = Violations::default();
        for (name, _) in
            members.iter().filter(|(name, _)| FIELDS.iter().all(|field| field.name != name))
        {
            violations.push_with(|| unknown_field(&name));
        }
        violations
    }

    fn members(&self) -> &Members {
        &self.members
    }

    fn into_members(self) -> Members {
        self.members
    }
}

fn unknown_field(name: &str) -> Violation {
    let fix = match nearest(name, FIELDS.iter().map(|field| field.name)) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "it has exactly the 21 fields of the interface; remove this member".to_owned(),
    };
    Violation::of_member(name, "unknown_field", format!("a proposal has no such field; {fix}"))
}

/// The errors that `validator` found, in the order of the field table.
fn field_violations(errors: &ValidationErrors) -> impl Iterator<Item = Violation> {
    FIELDS.iter().filter_map(|field| match errors.errors().get(field.name)? {
        ValidationErrorsKind::Field(errors) => {
            errors.first().map(|error| field.violation(&error.code))
        }
        _ => None,
    })
}
