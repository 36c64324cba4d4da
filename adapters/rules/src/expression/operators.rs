//! The operators of two values: what they take, what they give, and how.

use std::cmp::Ordering;

use super::kinds::{Kind, Kinds};
use super::meter::{Meter, NODE};
use super::value::{ELEMENT, Val};
use super::{EvaluationFault, failed, numbers};

type Outcome<T> = Result<T, EvaluationFault>;

/// An operator of two values. What takes conditions (`&&`, `||`, `?:`) is none of them, since it
/// does not look at both sides always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    pub(super) const ALL: [Self; 11] = [
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Remainder,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
    ];

    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// The operator of the parser's name for it: `_+_`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let sign = name.strip_prefix('_')?.strip_suffix('_')?;
        Self::ALL.into_iter().find(|operator| operator.sign() == sign)
    }

    /// What it gives for values of two kinds, or nothing when it takes no such values.
    pub(super) fn result(self, left: Kind, right: Kind) -> Option<Kind> {
        use Kind::{Boolean, Decimal, Double, Duration, Integer, List, Text, Timestamp};
        let are_numbers = left.is_number() && right.is_number();
        match (self, left, right) {
            (Self::Equal | Self::NotEqual, ..) => {
                Kinds::of(left).may_equal(Kinds::of(right)).then_some(Boolean)
            }
            (Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual, ..) => {
                let is_ordered = matches!(left, Text | Boolean | Timestamp | Duration);
                (are_numbers || is_ordered && left == right).then_some(Boolean)
            }
            (Self::Remainder, ..) => (left == Integer && right == Integer).then_some(Integer),
            _ if are_numbers => Some(
                [Decimal, Double]
                    .into_iter()
                    .find(|kind| left == *kind || right == *kind)
                    .unwrap_or(Integer),
            ),
            (Self::Add, Text, Text) => Some(Text),
            (Self::Add, List, List) => Some(List),
            (Self::Add | Self::Subtract, Duration, Duration)
            | (Self::Subtract, Timestamp, Timestamp) => Some(Duration),
            (Self::Add | Self::Subtract, Timestamp, Duration)
            | (Self::Add, Duration, Timestamp) => Some(Timestamp),
            _ => None,
        }
    }

    /// What it may give for values of these kinds; none when it can take no such values.
    pub(super) fn results(self, left: Kinds, right: Kinds) -> Kinds {
        let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
        pairs
            .filter_map(|(left, right)| self.result(left, right))
            .fold(Kinds::NONE, |all, kind| all.or(Kinds::of(kind)))
    }

    pub(super) fn cannot_take(self, left: Kind, right: Kind) -> EvaluationFault {
        failed(format_args!(
            "`{}` does not take {} and {}",
            self.sign(),
            left.with_article(),
            right.with_article()
        ))
    }

    /// Applies it.
    pub(super) fn apply<'a>(
        self,
        left: &Val<'a>,
        right: &Val<'a>,
        meter: &Meter,
    ) -> Outcome<Val<'a>> {
        match self {
            Self::Equal => left.equals(right, meter).map(Val::Boolean),
            Self::NotEqual => left.equals(right, meter).map(|is_equal| Val::Boolean(!is_equal)),
            Self::Less => self.order(left, right, meter, Ordering::is_lt),
            Self::LessOrEqual => self.order(left, right, meter, Ordering::is_le),
            Self::Greater => self.order(left, right, meter, Ordering::is_gt),
            Self::GreaterOrEqual => self.order(left, right, meter, Ordering::is_ge),
            _ if left.kind().is_number() && right.kind().is_number() => {
                numbers::compute(self, left, right, meter)
            }
            _ => self.combine(left, right, meter),
        }
    }

    fn order<'a>(
        self,
        left: &Val<'a>,
        right: &Val<'a>,
        meter: &Meter,
        wanted: impl Fn(Ordering) -> bool,
    ) -> Outcome<Val<'a>> {
        let ordering = compare(left, right, meter)?
            .ok_or_else(|| self.cannot_take(left.kind(), right.kind()))?;
        Ok(Val::Boolean(wanted(ordering)))
    }

    /// Adds and subtracts what is no number.
    fn combine<'a>(self, left: &Val<'a>, right: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
        let out_of_range =
            || failed(format_args!("the result of `{}` is beyond the range of times", self.sign()));
        match (self, left, right) {
            (Self::Add, Val::Text(left), Val::Text(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                meter.hold(left.len() + right.len())?;
                Val::made_text(meter, &[left, right].concat())
            }
            (Self::Add, Val::List(left), Val::List(right)) => {
                let mut elements = Vec::new();
                for element in left.iter(meter).chain(right.iter(meter)) {
                    meter.hold(ELEMENT)?;
                    elements.push(element?);
                }
                Ok(Val::made_list(elements))
            }
            (Self::Add, Val::Duration(left), Val::Duration(right)) => {
                left.checked_add(*right).map(Val::Duration).ok_or_else(out_of_range)
            }
            (Self::Subtract, Val::Duration(left), Val::Duration(right)) => {
                left.checked_sub(*right).map(Val::Duration).ok_or_else(out_of_range)
            }
            (Self::Add, Val::Timestamp(time), Val::Duration(duration))
            | (Self::Add, Val::Duration(duration), Val::Timestamp(time)) => {
                time.checked_add(*duration).map(Val::Timestamp).map_err(|_| out_of_range())
            }
            (Self::Subtract, Val::Timestamp(time), Val::Duration(duration)) => {
                time.checked_sub(*duration).map(Val::Timestamp).map_err(|_| out_of_range())
            }
            (Self::Subtract, Val::Timestamp(left), Val::Timestamp(right)) => {
                Ok(Val::Duration(left.duration_since(*right)))
            }
            _ => Err(self.cannot_take(left.kind(), right.kind())),
        }
    }
}

/// The order of two values; nothing when they have none.
pub(super) fn compare(left: &Val<'_>, right: &Val<'_>, meter: &Meter) -> Outcome<Option<Ordering>> {
    meter.charge(NODE)?;
    Ok(match (left, right) {
        (Val::Text(left), Val::Text(right)) => {
            meter.scan(left.as_str().len().min(right.as_str().len()))?;
            Some(left.as_str().cmp(right.as_str()))
        }
        (Val::Boolean(left), Val::Boolean(right)) => Some(left.cmp(right)),
        (Val::Timestamp(left), Val::Timestamp(right)) => Some(left.cmp(right)),
        (Val::Duration(left), Val::Duration(right)) => Some(left.cmp(right)),
        _ if left.kind().is_number() && right.kind().is_number() => {
            numbers::compare(left, right, meter)?
        }
        _ => None,
    })
}
