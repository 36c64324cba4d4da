//! Applying an operator to two values.

use std::cmp::Ordering;

use super::meter::{Meter, NODE};
use super::operator::Operator;
use super::value::{ELEMENT, Val};
use super::{EvaluationError, dates, failed, numbers};

type Outcome<T> = Result<T, EvaluationError>;

impl Operator {
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
            _ => match (left.as_number(), right.as_number()) {
                (Some(left), Some(right)) => {
                    numbers::compute(self, left, right, meter).map(Val::from)
                }
                _ => self.combine(left, right, meter),
            },
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
            (Self::Add, Val::String(left), Val::String(right)) => {
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
                let sum = left.checked_add(*right).and_then(dates::in_span);
                sum.map(Val::Duration).ok_or_else(out_of_range)
            }
            (Self::Subtract, Val::Duration(left), Val::Duration(right)) => {
                let rest = left.checked_sub(*right).and_then(dates::in_span);
                rest.map(Val::Duration).ok_or_else(out_of_range)
            }
            (Self::Add, Val::Timestamp(time), Val::Duration(duration))
            | (Self::Add, Val::Duration(duration), Val::Timestamp(time)) => {
                let later = dates::in_range(time.checked_add(*duration));
                later.map(Val::Timestamp).ok_or_else(out_of_range)
            }
            (Self::Subtract, Val::Timestamp(time), Val::Duration(duration)) => {
                let earlier = dates::in_range(time.checked_sub(*duration));
                earlier.map(Val::Timestamp).ok_or_else(out_of_range)
            }
            (Self::Subtract, Val::Timestamp(left), Val::Timestamp(right)) => {
                let between = dates::in_span(left.duration_since(*right));
                between.map(Val::Duration).ok_or_else(out_of_range)
            }
            _ => Err(self.cannot_take(left.kind(), right.kind())),
        }
    }
}

/// The order of two values; nothing when they have none.
pub(super) fn compare(left: &Val<'_>, right: &Val<'_>, meter: &Meter) -> Outcome<Option<Ordering>> {
    meter.charge(NODE)?;
    Ok(match (left, right) {
        (Val::String(left), Val::String(right)) => {
            meter.scan(left.as_str().len().min(right.as_str().len()))?;
            Some(left.as_str().cmp(right.as_str()))
        }
        (Val::Boolean(left), Val::Boolean(right)) => Some(left.cmp(right)),
        (Val::Timestamp(left), Val::Timestamp(right)) => Some(left.cmp(right)),
        (Val::Duration(left), Val::Duration(right)) => Some(left.cmp(right)),
        _ => match (left.as_number(), right.as_number()) {
            (Some(left), Some(right)) => numbers::compare(left, right, meter)?,
            _ => None,
        },
    })
}

/// The number or duration with its sign turned.
pub(super) fn negate<'a>(value: &Val<'a>) -> Outcome<Val<'a>> {
    if let Val::Duration(duration) = value {
        let negated = duration.checked_neg().and_then(dates::in_span);
        return negated
            .map(Val::Duration)
            .ok_or_else(|| failed(format_args!("the duration is too long to be turned round")));
    }
    let number = value.as_number().ok_or_else(|| value.is_not("a number"))?;
    numbers::negate(number).map(Val::from)
}
