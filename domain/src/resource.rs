//! Kinds of items, and how a write of an item is judged.

use crate::json::Unstorable;
use crate::rule::{Rule, Transition, Verdict, WriteContext, WriteOperation};
use crate::{Members, Violation, Violations};

/// A kind of item. Every write turns members into a value of it, and the value is judged by its
/// rules.
pub trait Resource: Sized + Send + Sync + 'static {
    /// The business rules that judge every write of this resource.
    fn rules() -> &'static [&'static dyn Rule<Self>];

    /// Reads members, keeping what could be read beside the errors, so that rules about the sound
    /// part still speak.
    fn draft(members: Members) -> (Self, Violations);

    /// The members that no such resource has, whatever their values. None by default: it has any.
    #[must_use]
    fn unknown(_members: &Members) -> Violations {
        Violations::default()
    }

    /// The members to store.
    fn members(&self) -> &Members;

    /// The members to store.
    fn into_members(self) -> Members;

    /// Reads members to be stored: a draft, with all that is wrong with its fields.
    #[must_use]
    fn draft_to_store(members: Members) -> (Self, Violations) {
        let unstorable = unstorable(&members);
        let (draft, mut violations) = Self::draft(members);
        violations.append(unstorable);
        (draft, violations)
    }

    /// Judges a create (`before` is `None`) or a replacement in no particular context: fields
    /// first, then every rule of the resource whose fields are sound.
    ///
    /// # Errors
    /// All errors at once.
    fn judge(before: Option<&Self>, members: Members) -> Result<Self, Violations> {
        let (after, errors) = Self::draft_to_store(members);
        let mut verdict = Verdict { errors, ..Verdict::default() };
        let context =
            WriteContext::any(before.map_or(WriteOperation::Create, |_| WriteOperation::Replace));
        let transition = Transition { before, after: &after, context: &context, found: &[] };
        for rule in Self::rules() {
            verdict.ask(*rule, &transition);
        }
        if verdict.errors.is_empty() { Ok(after) } else { Err(verdict.errors) }
    }
}

/// The parts of members that the store cannot keep: U+0000, and numbers outside its range.
#[must_use]
pub fn unstorable(members: &Members) -> Violations {
    let mut violations = Violations::default();
    members.each_unstorable(&mut |reason, pointer| {
        let (code, detail) = match reason {
            Unstorable::Nul => {
                ("unstorable_character", "the character U+0000 cannot be stored; remove it")
            }
            Unstorable::OutOfRange => (
                "number_out_of_range",
                "the number is out of range: at most 131,072 digits before the decimal point and \
                 16,383 after it can be stored; send it as a string",
            ),
        };
        violations.push_with(|| Violation::new(pointer.clone(), code, detail));
    });
    violations
}
