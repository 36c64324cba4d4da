use std::cmp::Ordering;

use super::meter::{Meter, NODE};
use super::operator::Operator;
use super::value::{ELEMENT, Val};
use super::{Outcome, dates, numbers};

impl Operator {
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
        meter.charge(NODE)?;
        let ordering = left.compare(right, meter)?;
        let ordering = ordering.ok_or_else(|| self.cannot_take(left.kind(), right.kind()))?;
        Ok(Val::Boolean(wanted(ordering)))
    }

    fn combine<'a>(self, left: &Val<'a>, right: &Val<'a>, meter: &Meter) -> Outcome<Val<'a>> {
        let result = match (self, left, right) {
            (Self::Add, Val::String(left), Val::String(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                meter.hold(left.len() + right.len())?;
                return Val::made_string(meter, &[left, right].concat());
            }
            (Self::Add, Val::List(left), Val::List(right)) => {
                let mut elements = Vec::new();
                for element in left.iter(meter).chain(right.iter(meter)) {
                    meter.hold(ELEMENT)?;
                    elements.push(element?);
                }
                return Ok(Val::made_list(elements));
            }
            (Self::Add, Val::Duration(left), Val::Duration(right)) => {
                left.checked_add(*right).and_then(dates::in_span).map(Val::Duration)
            }
            (Self::Subtract, Val::Duration(left), Val::Duration(right)) => {
                left.checked_sub(*right).and_then(dates::in_span).map(Val::Duration)
            }
            (Self::Add, Val::Timestamp(time), Val::Duration(duration))
            | (Self::Add, Val::Duration(duration), Val::Timestamp(time)) => {
                dates::in_range(time.checked_add(*duration)).map(Val::Timestamp)
            }
            (Self::Subtract, Val::Timestamp(time), Val::Duration(duration)) => {
                dates::in_range(time.checked_sub(*duration)).map(Val::Timestamp)
            }
            (Self::Subtract, Val::Timestamp(left), Val::Timestamp(right)) => {
                dates::in_span(left.duration_since(*right)).map(Val::Duration)
            }
            _ => return Err(self.cannot_take(left.kind(), right.kind())),
        };
        result
            .ok_or_else(|| failed!("the result of `{}` is beyond the range of times", self.sign()))
    }
}

pub(super) fn negate<'a>(value: &Val<'a>) -> Outcome<Val<'a>> {
    if let Val::Duration(duration) = value {
        let negated = duration.checked_neg().and_then(dates::in_span).map(Val::Duration);
        return negated.ok_or_else(|| failed!("the duration is too long to be negated"));
    }
    let number = value.as_number().ok_or_else(|| value.is_not("a number"))?;
    numbers::negate(number).map(Val::from)
}
