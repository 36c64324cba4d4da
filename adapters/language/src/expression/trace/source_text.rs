//! Source of a part of an expression, generated from the compiled form.
//!
//! Adds parentheses only if necessary. Folded constants appear as their values.

use std::fmt::{self, Write};

use domain::json::push_string;

use super::super::Shape;
use super::super::conversions;
use super::super::meter::{CostLimit, Meter};
use super::super::operator::Operator;
use super::super::term::{Call, Loop, Term};
use super::super::value::{List, Val};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Choice,
    Or,
    And,
    Relation,
    Sum,
    Product,
    Sign,
    Primary,
}

pub(super) fn of(node: &Term, lookups: &[(String, Shape)], most: usize) -> String {
    let mut writer = SourceWriter { out: String::new(), most, lookups };
    if writer.node(node, Level::Choice).is_err() {
        writer.out.push('…');
    }
    writer.out
}

struct SourceWriter<'a> {
    out: String,
    most: usize,
    lookups: &'a [(String, Shape)],
}

impl Write for SourceWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = self.most.saturating_sub(self.out.len());
        let end = text.char_indices().map(|(at, character)| at + character.len_utf8());
        let end = if text.len() <= left {
            text.len()
        } else {
            end.take_while(|end| *end <= left).last().unwrap_or(0)
        };
        self.out.push_str(&text[..end]);
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl SourceWriter<'_> {
    fn node(&mut self, node: &Term, least: Level) -> fmt::Result {
        let is_loose = level(node) < least;
        self.write_str(if is_loose { "(" } else { "" })?;
        self.bare(node)?;
        self.write_str(if is_loose { ")" } else { "" })
    }

    fn bare(&mut self, node: &Term) -> fmt::Result {
        match node {
            Term::Constant(constant) => self.constant(constant),
            Term::Variable(variable, _) => self.write_str(variable.name(self.lookups)),
            Term::Local(local) => self.write_str(&local.name),
            Term::Member(member) => self.member(&member.of, &member.name),
            Term::Has(member) => {
                self.write_str("has(")?;
                self.member(&member.of, &member.name)?;
                self.write_str(")")
            }
            Term::Index(parts) => {
                self.node(&parts[0], Level::Primary)?;
                self.list("[", &parts[1..], Self::loose, "]")
            }
            Term::Not(of) => self.sign("!", of),
            Term::Negate(of) => self.sign("-", of),
            // The parser does not keep this grouping, which has no effect.
            Term::And(sides) => self.sides(sides, "&&", [Level::And; 2]),
            Term::Or(sides) => self.sides(sides, "||", [Level::Or; 2]),
            Term::Choice(parts) => {
                self.node(&parts[0], Level::Or)?;
                self.write_str(" ? ")?;
                self.node(&parts[1], Level::Or)?;
                self.write_str(" : ")?;
                self.node(&parts[2], Level::Choice)
            }
            Term::Binary(operator, sides) => {
                let (own, right) = levels(*operator);
                self.sides(sides, operator.sign(), [own, right])
            }
            Term::In(sides) => self.sides(sides, "in", [Level::Relation, Level::Sum]),
            Term::List(elements) => self.list("[", elements, Self::loose, "]"),
            Term::Map(entries) => self.list("{", entries, Self::entry, "}"),
            Term::Call(call) => self.call(call),
            Term::Matches(of, pattern) => {
                self.node(of, Level::Primary)?;
                self.write_str(".matches(")?;
                self.string(&pattern.source)?;
                self.write_str(")")
            }
            Term::Loop(of) => self.repeat(of),
        }
    }

    fn member(&mut self, of: &Term, name: &str) -> fmt::Result {
        self.node(of, Level::Primary)?;
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if is_word { write!(self, ".{name}") } else { write!(self, ".`{name}`") }
    }

    fn sign(&mut self, sign: &str, of: &Term) -> fmt::Result {
        self.write_str(sign)?;
        self.node(of, Level::Primary)
    }

    fn sides(&mut self, sides: &[Term; 2], sign: &str, least: [Level; 2]) -> fmt::Result {
        self.node(&sides[0], least[0])?;
        write!(self, " {sign} ")?;
        self.node(&sides[1], least[1])
    }

    fn list<T>(
        &mut self,
        open: &str,
        elements: &[T],
        mut each: impl FnMut(&mut Self, &T) -> fmt::Result,
        close: &str,
    ) -> fmt::Result {
        self.write_str(open)?;
        for (index, element) in elements.iter().enumerate() {
            self.write_str(if index == 0 { "" } else { ", " })?;
            each(self, element)?;
        }
        self.write_str(close)
    }

    fn loose(&mut self, node: &Term) -> fmt::Result {
        self.node(node, Level::Choice)
    }

    fn entry(&mut self, [key, value]: &[Term; 2]) -> fmt::Result {
        self.loose(key)?;
        self.write_str(": ")?;
        self.loose(value)
    }

    fn call(&mut self, Call { function, arguments, is_method }: &Call) -> fmt::Result {
        match &**arguments {
            [target, rest @ ..] if *is_method => {
                self.node(target, Level::Primary)?;
                write!(self, ".{}", function.name)?;
                self.list("(", rest, Self::loose, ")")
            }
            arguments => {
                self.write_str(function.name)?;
                self.list("(", arguments, Self::loose, ")")
            }
        }
    }

    fn repeat(&mut self, of: &Loop) -> fmt::Result {
        self.node(&of.range, Level::Primary)?;
        write!(self, ".{}({}", of.macro_.name(), of.local.name)?;
        for part in of.filter.iter().chain([&of.body]) {
            self.write_str(", ")?;
            self.loose(part)?;
        }
        self.write_str(")")
    }

    fn string(&mut self, text: &str) -> fmt::Result {
        let mut quoted = String::new();
        push_string(&mut quoted, text);
        self.write_str(&quoted)
    }

    fn constant(&mut self, constant: &Val<'_>) -> fmt::Result {
        match constant {
            Val::Null => self.write_str("null"),
            Val::Boolean(boolean) => write!(self, "{boolean}"),
            Val::Integer(integer) => write!(self, "{integer}"),
            Val::Double(double) if double.is_finite() => write!(self, "{double:?}"),
            Val::String(text) => self.string(text.as_str()),
            Val::Type(kind) => self.write_str(kind.type_name()),
            Val::List(List::Made(elements)) => self.list("[", elements, Self::constant, "]"),
            // Folding creates no other constants.
            Val::List(_) => self.write_str("[]"),
            Val::Map(_) => self.write_str("{}"),
            Val::Double(_) => self.conversion("double", constant),
            Val::Decimal(_) => self.conversion("decimal", constant),
            Val::Timestamp(_) => self.conversion("timestamp", constant),
            Val::Duration(_) => self.conversion("duration", constant),
        }
    }

    fn conversion(&mut self, function: &str, constant: &Val<'_>) -> fmt::Result {
        write!(self, "{function}(")?;
        // A number or a time is short, so it stays below the limit.
        if let Ok(Val::String(text)) = conversions::string(constant, &Meter::of(CostLimit::AtOnce))
        {
            self.string(text.as_str())?;
        }
        self.write_str(")")
    }
}

fn level(node: &Term) -> Level {
    match node {
        Term::Choice(_) => Level::Choice,
        Term::Or(_) => Level::Or,
        Term::And(_) => Level::And,
        Term::In(_) => Level::Relation,
        Term::Binary(operator, _) => levels(*operator).0,
        Term::Not(_) | Term::Negate(_) => Level::Sign,
        Term::Constant(Val::Integer(integer)) if *integer < 0 => Level::Sign,
        Term::Constant(Val::Double(double)) if *double < 0.0 => Level::Sign,
        _ => Level::Primary,
    }
}

const fn levels(operator: Operator) -> (Level, Level) {
    use Operator::{Add, Divide, Multiply, Remainder, Subtract};
    match operator {
        Multiply | Divide | Remainder => (Level::Product, Level::Sign),
        Add | Subtract => (Level::Sum, Level::Product),
        _ => (Level::Relation, Level::Sum),
    }
}
