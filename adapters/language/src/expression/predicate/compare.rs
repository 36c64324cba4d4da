//! Tests of one value of an item.

use domain::Predicate;
use domain::predicate::{
    Comparison, Double, ItemState, Literal, Operand, Subject, Test, ValueKind,
};
use jiff::Timestamp;
use jiff::tz::Offset;

use super::super::numbers::Number;
use super::super::operator::Operator;
use super::super::value::Val;
use super::Outcomes;

/// Limit on constants: databases differ in how they read larger numbers.
const MOST: f64 = 1e300;

pub(super) fn literal(value: &Val<'_>) -> Result<Literal, &'static str> {
    Ok(match value {
        Val::Null => Literal::Null,
        Val::Boolean(boolean) => Literal::Boolean(*boolean),
        Val::String(string) => Literal::String(string.as_str().into()),
        Val::Timestamp(time) => {
            Literal::Time(Offset::UTC.to_timestamp(*time).unwrap_or(Timestamp::MAX))
        }
        Val::List(_) | Val::Map(_) => {
            return Err(
                "lists and maps cannot be compared with items in a policy; compare their elements",
            );
        }
        _ => {
            let number = value.as_number().map(Number::to_double);
            let number = number.filter(|number| number.abs() <= MOST).and_then(Double::new);
            Literal::Number(number.ok_or("a policy compares items with numbers up to 1e300, strings, booleans, null and times only")?)
        }
    })
}

pub(super) fn exists(operand: &Operand) -> Predicate {
    match (operand.state, &operand.subject) {
        (ItemState::Present, Subject::Member(_)) | (ItemState::Old, _) => {
            Predicate::Test(operand.clone(), Test::Exists)
        }
        (ItemState::Present, _) => Predicate::TRUE,
    }
}

pub(super) fn has(operand: &Operand) -> Outcomes {
    let of = |subject| Operand { state: operand.state, subject };
    let decided = match &operand.subject {
        Subject::Member(path) => match path.split_last() {
            Some((_, names)) if !names.is_empty() => {
                Predicate::is(of(Subject::Member(names.into())), ValueKind::Object)
            }
            _ => exists(&of(Subject::Id)),
        },
        _ => exists(operand),
    };
    within(decided, exists(operand))
}

/// Compares with `==`, `!=`, `<`, `<=`, `>` or `>=`.
pub(super) fn compare(operand: &Operand, operator: Operator, literals: &[Literal]) -> Outcomes {
    match operator {
        Operator::Equal => is_any(operand, literals),
        Operator::NotEqual => is_any(operand, literals).negated(),
        Operator::Less => order(operand, Comparison::Less, literals),
        Operator::LessOrEqual => order(operand, Comparison::AtMost, literals),
        Operator::Greater => order(operand, Comparison::AtMost, literals).negated(),
        _ => order(operand, Comparison::Less, literals).negated(),
    }
}

fn order(operand: &Operand, comparison: Comparison, literals: &[Literal]) -> Outcomes {
    let [literal] = literals else { return Outcomes::UNDECIDED };
    let is = |kind| Predicate::is(operand.clone(), kind);
    let decided = match (literal, is_time(operand)) {
        (Literal::Number(_), false) => is(ValueKind::Number),
        (Literal::String(_), false) => is(ValueKind::String),
        (Literal::Time(_), true) => Predicate::TRUE,
        _ => return Outcomes::UNDECIDED,
    };
    let test = Test::Compare(comparison, literal.clone());
    within(decided, Predicate::Test(operand.clone(), test))
}

const fn is_time(operand: &Operand) -> bool {
    matches!(operand.subject, Subject::CreatedAt)
}

pub(super) fn is_any(operand: &Operand, literals: &[Literal]) -> Outcomes {
    let comparable = |literal: &&Literal| matches!(literal, Literal::Time(_)) == is_time(operand);
    let equals = |literal: &Literal| Predicate::equals(operand.clone(), literal.clone());
    within(exists(operand), Predicate::any(literals.iter().filter(comparable).map(equals)))
}

pub(super) fn includes(operand: &Operand, literals: &[Literal]) -> Outcomes {
    let kinds = [ValueKind::List, ValueKind::Object];
    let decided = Predicate::any(kinds.map(|kind| Predicate::is(operand.clone(), kind)));
    let test =
        |literal: &Literal| Predicate::Test(operand.clone(), Test::Includes(literal.clone()));
    within(decided, Predicate::any(literals.iter().map(test)))
}

pub(super) fn starts_with(operand: &Operand, literals: &[Literal]) -> Outcomes {
    let [Literal::String(beginning)] = literals else { return Outcomes::UNDECIDED };
    let test = Test::StartsWith(beginning.clone());
    let decided = Predicate::is(operand.clone(), ValueKind::String);
    within(decided, Predicate::Test(operand.clone(), test))
}

/// Compares two values of an item and its earlier state.
pub(super) fn equal(one: Operand, other: Operand) -> Outcomes {
    within(exists(&one).and(exists(&other)), Predicate::Equal(one, other))
}

pub(super) fn flag(operand: &Operand) -> Outcomes {
    let is = |boolean| Predicate::equals(operand.clone(), Literal::Boolean(boolean));
    Outcomes { is_true: is(true), is_false: is(false) }
}

/// Returns the outcomes of a test that is true only of values for which it is decided.
fn within(decided: Predicate, holds: Predicate) -> Outcomes {
    Outcomes { is_false: decided.and(holds.clone().negated()), is_true: holds }
}
