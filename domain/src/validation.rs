use crate::json::Unstorable;
use crate::proposal::{field_violations, rules, unknown_fields};
use crate::{
    BuiltInRule, Collection, Fields, Members, Transition, Verdict, Violation, Violations,
    WriteContext, WriteOperation,
};

impl Collection {
    /// The rules in Rust, in the order of their violations in a report.
    pub const fn rules(self) -> &'static [BuiltInRule] {
        match self.spec().fields {
            Fields::Typed(_) => rules::RULES,
            Fields::Open(_) => &[],
        }
    }

    /// Returns a violation for each member that the collection does not allow, for any value.
    pub fn unknown_members(self, members: &Members) -> Violations {
        if self.is_open() { Violations::default() } else { unknown_fields(members) }
    }

    /// Returns the members to store, and all errors that depend on no rule. A `null` in a typed
    /// collection is an absent member.
    pub fn validate(self, members: Members) -> (Members, Violations) {
        let unstorable = unstorable(&members);
        let mut violations = self.unknown_members(&members);
        if self.is_open() {
            return (members, unstorable);
        }
        let members = members.retain(|_, value| !value.is_null());
        violations.append(field_violations(&members));
        violations.append(unstorable);
        (members, violations)
    }

    /// Judges a create (`before` is `None`) or a replacement by the fields and the rules in Rust,
    /// without lookups. Returns the members to store, or all errors.
    pub fn judge(self, before: Option<&Members>, members: Members) -> Result<Members, Violations> {
        let (after, errors) = self.validate(members);
        let mut verdict = Verdict { errors, ..Verdict::default() };
        let context =
            WriteContext::any(before.map_or(WriteOperation::Create, |_| WriteOperation::Replace));
        let transition = Transition { before, after: &after, context: &context, found: &[] };
        for rule in self.rules() {
            if verdict.wants(&rule.about, &context, || rule.fields.to_vec()) {
                verdict.note(&rule.about, (rule.check)(&transition).err());
            }
        }
        if verdict.errors.is_empty() { Ok(after) } else { Err(verdict.errors) }
    }
}

/// Returns the parts that the store cannot keep: U+0000, and numbers outside its range.
pub fn unstorable(members: &Members) -> Violations {
    let mut violations = Violations::default();
    members.each_unstorable(&mut |reason, pointer| {
        let (code, detail) = match reason {
            Unstorable::Nul => ("unstorable_character", "U+0000 cannot be stored. Remove it."),
            Unstorable::OutOfRange => (
                "number_out_of_range",
                "Number out of range: at most 131,072 digits before the decimal point and 16,383 \
                 after it can be stored. Send it as a string.",
            ),
        };
        violations.push_with(|| Violation::new(pointer.clone(), code, detail));
    });
    violations
}
