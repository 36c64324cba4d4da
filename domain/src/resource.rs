//! What a kind of item is, and how a write of it is judged.

use crate::{ItemId, Members, Violation, Violations};

/// A kind of item. Every write turns members into a value of it, and the value is judged by its rules.
pub trait Resource: Sized + Send + Sync + 'static {
    /// The business rules that judge every write of this resource.
    fn rules() -> &'static [&'static dyn Rule<Self>];

    /// Reads members, keeping what could be read beside the faults, so that rules about the sound part still speak.
    fn draft(members: Members) -> (Self, Violations);

    /// The members that no such resource has, whatever their values. None by default: it has any.
    #[must_use]
    fn unknown(_members: &Members) -> Violations {
        Violations::default()
    }

    /// The members to store.
    fn into_members(self) -> Members;

    /// The programme this item refers to, if it names one.
    fn program(&self) -> Option<ItemId> {
        None
    }

    /// Makes the value, or says everything its fields have wrong.
    ///
    /// # Errors
    /// All faults of the fields; business rules are not asked.
    fn try_from_members(members: Members) -> Result<Self, Violations> {
        let (draft, violations) = Self::draft(members);
        if violations.is_empty() { Ok(draft) } else { Err(violations) }
    }

    /// Judges a create (`before` is `None`) or a change: fields first, then every rule whose fields are sound.
    ///
    /// # Errors
    /// All faults at once.
    fn judge(before: Option<&Self>, members: Members) -> Result<Self, Violations> {
        let unstorable = members.unstorable();
        let (after, mut violations) = Self::draft(members);
        violations.extend_below(&crate::Pointer::root(), unstorable);
        let mut broken = Violations::default();
        for rule in Self::rules() {
            if !violations.concern(rule.fields()) {
                broken.extend(rule.check(&Transition { before, after: &after }).err());
            }
        }
        violations.extend_below(&crate::Pointer::root(), broken);
        if violations.is_empty() { Ok(after) } else { Err(violations) }
    }
}

/// A write under judgement.
#[derive(Debug)]
pub struct Transition<'a, R> {
    /// What was there; `None` on a create.
    pub before: Option<&'a R>,
    /// What would be there.
    pub after: &'a R,
}

/// One business rule.
pub trait Rule<R>: Send + Sync {
    /// A stable word for programs: the `code` of the rule's violations.
    fn code(&self) -> &'static str;

    /// The fields it concerns. The rule is not asked while one of them is unreadable.
    fn fields(&self) -> &'static [&'static str];

    /// Passes or refuses the write.
    ///
    /// # Errors
    /// The violation, naming the field to mend.
    fn check(&self, transition: &Transition<'_, R>) -> Result<(), Violation>;
}
