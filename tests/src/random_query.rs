//! Random filters and orders, and a model that answers them as the documentation specifies.

use std::cmp::Ordering;

use fastrand::Rng;
use serde_json::{Number, Value};

/// JSON values, few enough that many are equal.
pub const VALUES: &[&str] = &[
    "7",
    "7.0",
    "7e0",
    "10",
    "9",
    "-3",
    "0",
    "-0.0",
    "14.5",
    "14.50",
    "0.1",
    "100000",
    "9007199254740992",
    "9007199254740993",
    r#""7""#,
    r#""14.50""#,
    r#""""#,
    r#""a""#,
    r#""A""#,
    r#""ab""#,
    r#""ñ""#,
    r#""Ñ""#,
    r#""🐟""#,
    "\"\u{ffff}\"",
    r#""true""#,
    "true",
    "false",
    "null",
    "null",
    r#"["a",7]"#,
    r#"["b",10,null]"#,
    "[]",
    r#"[["a"]]"#,
    "[null]",
    r#"{"a":7}"#,
    r#""2026-01-31""#,
    r#""a b""#,
    r#""%_*""#,
    r#""a_b*c?[d]^e\\f.g""#,
];

pub const OPERANDS: &[&str] = &[
    "7", "7.0", "10", "-3", "0", "14.50", "14.5", "9.9", "a", "A", "ab", "b", "ñ", "🐟", "true",
    "false", "", "2026", "null", "%", "07",
];

const OPERATORS: &[&str] = &["", "eq", "ne", "lt", "lte", "gt", "gte", "in", "contains", "exists"];

const PIECES: &[&str] =
    &["a", "A", "ñ", "7", "%", "_", "🐟", ".5", "b", "-", "*c?", "[D]", "]^E\\F", "a.b"];

/// One of some choices.
pub fn one<'a, T: ?Sized>(random: &mut Rng, choices: &[&'a T]) -> &'a T {
    choices[random.usize(..choices.len())]
}

/// A filter of a query string.
#[derive(Clone, Debug)]
pub struct Filter {
    pub member: String,
    pub operator: &'static str,
    /// The value, or several with commas between them.
    pub operand: String,
}

impl Filter {
    pub fn random(random: &mut Rng, member: &str, operands: &[&str]) -> Self {
        let operator = one(random, OPERATORS);
        let operand = match operator {
            "exists" => random.bool().to_string(),
            "in" => {
                (0..random.usize(1..4)).map(|_| one(random, operands)).collect::<Vec<_>>().join(",")
            }
            "contains" => one(random, PIECES).to_owned(),
            _ if random.u8(..20) == 0 => "9007199254740993".to_owned(),
            _ => one(random, operands).to_owned(),
        };
        Self { member: member.to_owned(), operator, operand }
    }

    /// Returns whether the value of the member passes.
    pub fn holds(&self, value: &Value) -> bool {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let any = |holds: &dyn Fn(&Value, &str) -> bool| {
            values.iter().any(|value| holds(value, &self.operand))
        };
        let compared = |wanted: &[Ordering]| {
            any(&|value, operand| {
                compared(value, operand).iter().any(|found| wanted.contains(found))
            })
        };
        match self.operator {
            "" | "eq" => any(&equals),
            "ne" => !value.is_null() && !any(&equals),
            "lt" => compared(&[Ordering::Less]),
            "lte" => compared(&[Ordering::Less, Ordering::Equal]),
            "gt" => compared(&[Ordering::Greater]),
            "gte" => compared(&[Ordering::Greater, Ordering::Equal]),
            "in" => self
                .operand
                .split(',')
                .any(|operand| values.iter().any(|value| equals(value, operand))),
            "contains" => any(&|value, piece| {
                value
                    .as_str()
                    .is_some_and(|text| text.to_lowercase().contains(&piece.to_lowercase()))
            }),
            _ => value.is_null() != (self.operand == "true"),
        }
    }
}

fn equals(value: &Value, operand: &str) -> bool {
    compared(value, operand) == Some(Ordering::Equal)
        || value.as_bool().is_some_and(|boolean| boolean.to_string() == operand)
}

/// The order of a value and an operand, if both can have the same type.
fn compared(value: &Value, operand: &str) -> Option<Ordering> {
    let number = serde_json::from_str::<Number>(operand).ok();
    let is_text = number.is_none() || !operand.contains('.');
    match value {
        Value::Number(own) => compared_numbers(own, &number?),
        Value::String(own) if is_text => Some(own.as_str().cmp(operand)),
        _ => None,
    }
}

fn compared_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// The order of two values: numbers, texts, the rest by its JSON text; absent ones last in both
/// directions.
pub fn in_order(left: &Value, right: &Value, descending: bool) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        _ => 2,
    };
    let own = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return left.is_null().cmp(&right.is_null()),
        (Value::Number(left), Value::Number(right)) => {
            compared_numbers(left, right).unwrap_or(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)).then_with(|| left.to_string().cmp(&right.to_string())),
    };
    if descending { own.reverse() } else { own }
}
