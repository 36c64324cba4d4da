//! Conditions on items, and the roles that they give.

use std::sync::Arc;

use domain::predicate::{Operand, Related, RelatedKey, RelatedValue, Subject};
use domain::{Collection, Predicate, WriteContext};
use language::Lookups;
use language::error::ErrorCollector;
use language::expression::{
    Condition, Expression, LookupBy, LookupTarget, Variable, Variables, is_taken,
};
use language::keys::{Keys, LONGEST_NAME};

/// The condition of a policy or role, before a caller is known.
#[derive(Debug, Default)]
pub(crate) struct ItemCondition {
    pub when: Option<Condition>,
    change: Option<Condition>,
}

/// A condition for one caller and day. If it cannot be evaluated on an item, it holds possibly, but
/// not certainly.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub certainly: Predicate,
    pub possibly: Predicate,
}

impl Held {
    pub const ALWAYS: Self = Self { certainly: Predicate::TRUE, possibly: Predicate::TRUE };
    pub const NEVER: Self = Self { certainly: Predicate::FALSE, possibly: Predicate::FALSE };

    fn of(condition: &Condition, context: &WriteContext) -> Self {
        let outcomes = condition.outcomes(context);
        Self { certainly: outcomes.is_true, possibly: outcomes.is_false.negated() }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            certainly: self.certainly.and(other.certainly),
            possibly: self.possibly.and(other.possibly),
        }
    }

    pub fn or(self, other: Self) -> Self {
        Self {
            certainly: self.certainly.or(other.certainly),
            possibly: self.possibly.or(other.possibly),
        }
    }

    pub fn of_old(&self) -> Self {
        Self { certainly: self.certainly.of_old(), possibly: self.possibly.of_old() }
    }

    /// The condition that it holds of the item that another one belongs or refers to.
    fn of_target(&self, (collection, value): &(Collection, Operand)) -> Self {
        let related = |holds: &Predicate| {
            Predicate::related(Related {
                collection: *collection,
                key: RelatedKey::Id,
                value: RelatedValue::Operand(value.clone()),
                latest: None,
                holds: holds.clone(),
            })
        };
        Self { certainly: related(&self.certainly), possibly: related(&self.possibly) }
    }

    /// The condition on the items `of` a collection, from one on the items that they belong or
    /// refer to, perhaps over several steps.
    pub fn passed_on(&self, from: Collection, of: Collection) -> Self {
        if from == of {
            return self.clone();
        }
        targets(of).into_iter().fold(Self::NEVER, |passed, target| {
            passed.or(self.passed_on(from, target.0).of_target(&target))
        })
    }
}

/// The collections that the items of a collection belong or refer to, with the values that name the
/// items there. They form no circle.
fn targets(of: Collection) -> Vec<(Collection, Operand)> {
    let spec = of.spec();
    let parent = of.parent().map(|parent| (parent, Operand::current(Subject::Parent)));
    let references = spec.references.iter().chain(&spec.about);
    let references = references.map(|it| (Collection::known(it.to), Operand::member(it.member)));
    parent.into_iter().chain(references).collect()
}

impl ItemCondition {
    /// Reads the keys `lookup`, `when` and `change`. `variables` are those of `change`.
    pub fn read(keys: &Keys<'_>, variables: Variables, errors: &mut ErrorCollector<'_>) -> Self {
        // The expressions may name a lookup with an error.
        let Some(lookups) = lookups(keys, errors) else { return Self::default() };
        let lookups: Arc<[_]> = lookups.into();
        let mut condition = |key, variables| {
            let scalar = keys.scalar(key)?;
            let compiled = Condition::compile(&scalar.text, variables, Arc::clone(&lookups));
            let compiled = compiled.map_err(|error| (scalar.place_of(error.offset), error.reason));
            errors.take(compiled)
        };
        let when = condition("when", Variables::OF_AN_ITEM);
        let change = condition("change", variables);
        Self { when, change }
    }

    pub fn uses(&self, variable: Variable) -> bool {
        let mut conditions = self.when.iter().chain(&self.change);
        conditions.any(|condition| condition.uses(variable))
    }

    pub fn when(&self, context: &WriteContext) -> Held {
        self.when.as_ref().map_or(Held::ALWAYS, |when| Held::of(when, context))
    }

    pub fn change(&self, context: &WriteContext) -> Option<Held> {
        self.change.as_ref().map(|change| Held::of(change, context))
    }

    pub const fn has_change(&self) -> bool {
        self.change.is_some()
    }

    /// Returns the members that `when` reads, of the item (`None`) or of the items of a lookup.
    pub fn reads(&self) -> Vec<(Option<&LookupTarget>, &str)> {
        self.when.as_ref().map(reads).unwrap_or_default()
    }

    /// Returns the members of the item that `change` reads.
    pub fn change_reads(&self) -> Vec<&str> {
        let reads = self.change.iter().flat_map(reads);
        reads.filter(|(of, _)| of.is_none()).map(|(_, name)| name).collect()
    }

    /// Returns the lookups of `when`.
    pub fn lookups(&self) -> impl Iterator<Item = &LookupTarget> {
        self.when.iter().flat_map(|when| {
            let lookups = when.lookups().iter().enumerate();
            lookups.filter(|(place, _)| when.uses(Variable::Lookup(*place))).map(|(_, it)| &it.1)
        })
    }
}

/// Returns the members that a condition and the keys of its lookups read.
fn reads(condition: &Condition) -> Vec<(Option<&LookupTarget>, &str)> {
    let of = |variable| match variable {
        Variable::Lookup(place) => condition.lookups().get(place).map(|(_, target)| target),
        _ => None,
    };
    let used = condition.lookups().iter().enumerate();
    let used = used.filter(|(place, _)| condition.uses(Variable::Lookup(*place)));
    let used: Vec<_> = used.map(|(_, (_, target))| target).collect();
    let expressions = used.iter().map(|target| &target.value).chain([condition.expression()]);
    let mut reads: Vec<_> =
        expressions.flat_map(Expression::reads).map(|read| (of(read.of), read.name)).collect();
    reads.extend(used.iter().filter_map(|target| match &target.by {
        LookupBy::Member(name) => Some((Some(*target), &**name)),
        LookupBy::Id | LookupBy::Parent => None,
    }));
    reads
}

/// Returns the lookups; `None` if one has an error.
fn lookups(
    keys: &Keys<'_>,
    errors: &mut ErrorCollector<'_>,
) -> Option<Vec<(String, LookupTarget)>> {
    let errors_before = errors.count();
    let misnamed = |name: &str| {
        let is_name = name.len() <= LONGEST_NAME
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_free = is_name && !is_taken(name) && !Variables::OF_A_CHANGE.are_named(name);
        (!is_free).then(|| {
            format!("`{name}` cannot name a lookup; use another word of letters, digits and `_`")
        })
    };
    let lookups = Lookups::read(keys, Variables::OF_AN_ITEM, misnamed, errors);
    (errors.count() == errors_before).then_some(lookups.targets)
}
