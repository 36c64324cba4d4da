use super::EvaluationError;
use super::kinds::{Kinds, NONE, ValueKind};

/// Binary operator. `&&`, `||` and `?:` are not included: they do not always evaluate both sides.
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

const SIGNS: [(Operator, &str); 11] = [
    (Operator::Add, "+"),
    (Operator::Subtract, "-"),
    (Operator::Multiply, "*"),
    (Operator::Divide, "/"),
    (Operator::Remainder, "%"),
    (Operator::Equal, "=="),
    (Operator::NotEqual, "!="),
    (Operator::Less, "<"),
    (Operator::LessOrEqual, "<="),
    (Operator::Greater, ">"),
    (Operator::GreaterOrEqual, ">="),
];

impl Operator {
    pub(super) const fn sign(self) -> &'static str {
        SIGNS[self as usize].1
    }

    /// Returns the comparison with exchanged sides; `None` for arithmetic.
    pub(super) const fn swapped(self) -> Option<Self> {
        Some(match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            _ => return None,
        })
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let sign = name.strip_prefix('_')?.strip_suffix('_')?;
        SIGNS.iter().find(|(_, known)| *known == sign).map(|(operator, _)| *operator)
    }

    pub(super) fn result(self, left: ValueKind, right: ValueKind) -> Option<ValueKind> {
        use ValueKind::{Boolean, Decimal, Double, Duration, Integer, List, String, Timestamp};
        let are_numbers = left.is_number() && right.is_number();
        match (self, left, right) {
            (Self::Equal | Self::NotEqual, ..) => {
                Kinds::of(left).may_equal(Kinds::of(right)).then_some(Boolean)
            }
            (Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual, ..) => {
                let is_ordered = matches!(left, String | Boolean | Timestamp | Duration);
                (are_numbers || is_ordered && left == right).then_some(Boolean)
            }
            (Self::Remainder, ..) => (left == Integer && right == Integer).then_some(Integer),
            _ if are_numbers => Some(
                [Decimal, Double]
                    .into_iter()
                    .find(|kind| left == *kind || right == *kind)
                    .unwrap_or(Integer),
            ),
            (Self::Add, String, String) => Some(String),
            (Self::Add, List, List) => Some(List),
            (Self::Add | Self::Subtract, Duration, Duration)
            | (Self::Subtract, Timestamp, Timestamp) => Some(Duration),
            (Self::Add | Self::Subtract, Timestamp, Duration)
            | (Self::Add, Duration, Timestamp) => Some(Timestamp),
            _ => None,
        }
    }

    pub(super) fn results(self, left: Kinds, right: Kinds) -> Kinds {
        let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
        pairs
            .filter_map(|(left, right)| self.result(left, right))
            .fold(NONE, |all, kind| all.or(Kinds::of(kind)))
    }

    pub(super) fn cannot_take(self, left: ValueKind, right: ValueKind) -> EvaluationError {
        failed!(
            "`{}` does not take {} and {}",
            self.sign(),
            left.with_article(),
            right.with_article()
        )
    }
}
