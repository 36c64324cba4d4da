//! Filters as conditions on the row `w` of `items`.

use std::slice::from_ref;

use application::Reach;
use application::query::{Comparison, Condition, Filter, Operand, Subject};
use sea_orm::DbBackend;

use crate::sql::json_member::Member;
use crate::sql::mask;
use crate::sql::sql_text::SqlText;

pub(crate) fn condition(text: &mut SqlText, reach: &Reach, filter: &Filter) -> String {
    match (&filter.subject, mask::member_of(text, reach, &filter.subject)) {
        (_, Some(member)) => of_member(text, &member, &filter.condition),
        (Subject::CreatedAt, _) => of_time(text, "w.created_at", &filter.condition),
        _ => of_time(text, "w.updated_at", &filter.condition),
    }
}

/// Times are never missing.
fn of_time(text: &mut SqlText, column: &str, condition: &Condition) -> String {
    let mut time = |operand: &Operand| {
        text.bind(operand.number.as_deref().and_then(|micros| micros.parse::<i64>().ok()))
    };
    match condition {
        Condition::Compare(comparison, operand) => {
            format!("{column} {} {}", operator(*comparison), time(operand))
        }
        Condition::In(operands) => {
            let times: Vec<_> = operands.iter().map(time).collect();
            format!("{column} IN ({})", times.join(", "))
        }
        Condition::Exists(wanted) => truth(*wanted).to_owned(),
        Condition::Contains(_) => truth(false).to_owned(),
    }
}

fn of_member(text: &mut SqlText, member: &Member, condition: &Condition) -> String {
    match condition {
        Condition::Exists(true) => member.exists(),
        Condition::Exists(false) => format!("NOT ({})", member.exists()),
        Condition::Compare(Comparison::NotEqual, operand) => {
            let equal = equals_one(text, member, from_ref(operand));
            format!("({} AND NOT ({equal}))", member.exists())
        }
        Condition::Compare(Comparison::Equal, operand) => {
            equals_one(text, member, from_ref(operand))
        }
        Condition::Compare(comparison, operand) => compares(text, member, *comparison, operand),
        Condition::In(operands) => equals_one(text, member, operands),
        Condition::Contains(piece) => contains(text, member, piece),
    }
}

/// The condition that the member equals one of the operands. Never `NULL`.
fn equals_one(text: &mut SqlText, member: &Member, operands: &[Operand]) -> String {
    if member.is_scalar() && operands.iter().all(equals_as_text) {
        let wanted = || operands.iter().filter_map(|operand| operand.text.as_deref());
        // Not within COALESCE, so that the condition can use an index on the text.
        let held = member.as_text_comparable_to(wanted());
        let wanted: Vec<_> = wanted().map(|wanted| text.bind(wanted)).collect();
        return format!("{held} IN ({})", wanted.join(", "));
    }
    let holds: Vec<_> = operands
        .iter()
        .flat_map(|operand| alternatives(text, Comparison::Equal, operand))
        .collect();
    member.any(&any_of(&holds))
}

/// Returns whether values equal the operand exactly if their texts do. Zero may be written `-0`.
fn equals_as_text(operand: &Operand) -> bool {
    let is_canonical = |number: &str| {
        number.parse::<i64>().is_ok_and(|value| value != 0 && value.to_string() == number)
    };
    operand.text.is_some() && operand.number.as_deref().is_none_or(is_canonical)
}

fn compares(
    text: &mut SqlText,
    member: &Member,
    comparison: Comparison,
    operand: &Operand,
) -> String {
    match operand.text.as_deref() {
        Some(wanted) if member.is_text() => {
            let held = member.as_text_comparable_to(std::iter::once(wanted));
            format!("{held} {} {}", operator(comparison), text.bind(wanted))
        }
        _ => member.any(&any_of(&alternatives(text, comparison, operand))),
    }
}

/// Alternatives for the value `e`: it compares as a number or a string, or is the same boolean.
fn alternatives(text: &mut SqlText, comparison: Comparison, operand: &Operand) -> Vec<String> {
    let dialect = text.dialect;
    let operator = operator(comparison);
    let number = operand
        .number
        .as_deref()
        .map(|number| format!("{} {operator} {}", dialect.number_of_value, numeric(text, number)));
    let string = operand
        .text
        .as_deref()
        .map(|wanted| format!("{} {operator} {}", dialect.text_of_value, text.bind(wanted)));
    let boolean = operand.boolean.filter(|_| comparison == Comparison::Equal);
    let boolean = boolean.map(|wanted| format!("{} = '{wanted}'", dialect.boolean_of_value));
    [number, string, boolean].into_iter().flatten().collect()
}

/// Casts a written number to the engine's numeric type.
pub(crate) fn numeric(text: &mut SqlText, number: &str) -> String {
    format!("CAST(CAST({} AS TEXT) AS NUMERIC)", text.bind(number))
}

fn contains(text: &mut SqlText, member: &Member, piece: &str) -> String {
    let (operator, pattern) = match text.dialect.backend {
        DbBackend::Sqlite => ("GLOB", text.bind(glob(piece))),
        _ => ("~", text.bind(regular_expression(piece))),
    };
    if member.is_text() {
        return format!("{} {operator} {pattern}", member.as_string());
    }
    member.any(&format!("{} {operator} {pattern}", text.dialect.text_of_value))
}

/// A `GLOB` pattern for the piece in either letter case. `LIKE` knows ASCII letters only.
fn glob(piece: &str) -> String {
    let classes: String =
        piece.chars().map(|letter| class(letter, &|letter| letter.to_string())).collect();
    format!("*{classes}*")
}

/// The same as a POSIX regular expression. All characters except letters and digits are escaped.
fn regular_expression(piece: &str) -> String {
    let code_point = |letter: char| {
        if letter.is_alphanumeric() {
            letter.to_string()
        } else {
            format!("\\U{:08X}", u32::from(letter))
        }
    };
    piece.chars().map(|letter| class(letter, &code_point)).collect()
}

/// The letter in all its cases, as a class of characters. A `^` is safe alone, a `]` first.
fn class(letter: char, written: &dyn Fn(char) -> String) -> String {
    let text = letter.to_string();
    let (lower, upper) = (text.to_lowercase(), text.to_uppercase());
    let mut cases = vec![letter];
    for cased in [&lower, &upper, &lower.to_uppercase(), &upper.to_lowercase()] {
        let mut letters = cased.chars();
        cases.extend(
            letters.next().filter(|only| letters.next().is_none() && !cases.contains(only)),
        );
    }
    match cases.as_slice() {
        ['^'] => written('^'),
        _ => format!("[{}]", cases.into_iter().map(written).collect::<String>()),
    }
}

fn any_of(conditions: &[String]) -> String {
    if conditions.is_empty() {
        truth(false).to_owned()
    } else {
        format!("({})", conditions.join(" OR "))
    }
}

const fn truth(holds: bool) -> &'static str {
    if holds { "TRUE" } else { "FALSE" }
}

const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::AtMost => "<=",
        Comparison::Greater => ">",
        Comparison::AtLeast => ">=",
    }
}

#[cfg(test)]
mod tests {
    use super::{glob, regular_expression};

    #[test]
    fn patterns_have_no_wildcards() {
        assert_eq!(glob("a*[?]^Ñ"), "*[aA][*][[][?][]]^[Ññ]*");
        assert_eq!(
            regular_expression("a.]^\\é"),
            r"[aA][\U0000002E][\U0000005D]\U0000005E[\U0000005C][éÉ]"
        );
    }
}
