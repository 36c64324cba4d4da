//! Static facts about an expression: the members it reads, the constants it compares with dates,
//! and a constant result.

use std::slice::from_ref;

use super::Expression;
use super::kinds::ValueKind;
use super::operator::Operator;
use super::term::{Macro, MemberAccess, Term, Variable};
use super::value::{List, Val};

#[derive(Clone, Copy, Debug)]
pub struct MemberRead<'a> {
    pub of: Variable,
    pub name: &'a str,
    pub offset: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct DateUse<'a> {
    pub member: Option<MemberRead<'a>>,
    /// String that the date is compared with; `None` if a number is added or subtracted.
    pub compared: Option<&'a str>,
}

type Ranges = Vec<Option<Variable>>;

impl Expression {
    pub fn reads(&self) -> Vec<MemberRead<'_>> {
        let mut reads = Vec::new();
        self.root.visit(&mut Vec::new(), &mut |node, ranges| {
            if let Term::Member(member) | Term::Has(member) = node {
                reads.extend(member.read(ranges));
            }
        });
        reads.sort_by_key(|read| read.offset);
        reads
    }

    pub fn date_uses(&self) -> Vec<DateUse<'_>> {
        let mut uses = Vec::new();
        self.root.visit(&mut Vec::new(), &mut |node, ranges| {
            let mut add = |date, compared| uses.extend(date_use(date, compared, ranges));
            match node {
                Term::Binary(operator, sides) => {
                    let compares = operator.result(ValueKind::String, ValueKind::String)
                        == Some(ValueKind::Boolean);
                    let adds = matches!(operator, Operator::Add | Operator::Subtract);
                    for (date, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
                        match other {
                            Term::Constant(Val::Integer(_)) if adds => add(date, None),
                            Term::Constant(Val::String(string)) if compares => {
                                add(date, Some(string.as_str()));
                            }
                            _ => {}
                        }
                    }
                }
                Term::In(sides) => {
                    let Term::Constant(Val::List(List::Made(elements))) = &sides[1] else { return };
                    let strings = elements.iter().filter_map(|element| element.as_string().ok());
                    strings.for_each(|string| add(&sides[0], Some(string)));
                }
                _ => {}
            }
        });
        uses
    }

    pub fn uses(&self, variable: Variable) -> bool {
        let mut is_used = false;
        self.root.visit(&mut Vec::new(), &mut |node, _| {
            is_used |= matches!(node, Term::Variable(named, _) if *named == variable);
        });
        is_used
    }

    /// Returns the lookups that the expression uses, with their offsets.
    pub fn lookups(&self) -> Vec<(usize, usize)> {
        let mut lookups = Vec::new();
        self.root.visit(&mut Vec::new(), &mut |node, _| {
            if let Term::Variable(Variable::Lookup(place), offset) = node {
                lookups.push((*place, *offset));
            }
        });
        lookups
    }

    /// Returns the result of a condition if it is constant. `has_old` says if `old` is an item;
    /// `None` allows both.
    pub fn constant_result(&self, has_old: Option<bool>) -> Option<bool> {
        self.root.constant_result(has_old)
    }
}

fn date_use<'n>(date: &'n Term, compared: Option<&'n str>, ranges: &Ranges) -> Option<DateUse<'n>> {
    let (member, is_date) = match date {
        Term::Variable(Variable::Today, _) => (None, true),
        Term::Call(call) => {
            (None, ["date", "add_days", "add_months"].contains(&call.function.name))
        }
        Term::Member(member) => (member.read(ranges), false),
        _ => (None, false),
    };
    (is_date || member.is_some()).then_some(DateUse { member, compared })
}

impl MemberAccess {
    fn read(&self, ranges: &Ranges) -> Option<MemberRead<'_>> {
        let of = match self.of {
            Term::Variable(
                variable @ (Variable::After | Variable::Before | Variable::Lookup(_)),
                _,
            ) => variable,
            Term::Local(ref local) => (*ranges.get(local.place)?)?,
            Term::Call(ref call) if call.is_latest() => call.arguments.first()?.items()?,
            _ => return None,
        };
        Some(MemberRead { of, name: &self.name, offset: self.offset })
    }
}

impl Term {
    pub(super) fn visit<'n>(
        &'n self,
        ranges: &mut Ranges,
        visitor: &mut dyn FnMut(&'n Self, &Ranges),
    ) {
        visitor(self, ranges);
        let parts = match self {
            Self::Constant(_) | Self::Variable(..) | Self::Local(_) => &[],
            Self::Member(member) | Self::Has(member) => from_ref(&member.of),
            Self::Not(of) | Self::Negate(of) | Self::Matches(of, _) => from_ref(&**of),
            Self::Index(sides)
            | Self::And(sides)
            | Self::Or(sides)
            | Self::Binary(_, sides)
            | Self::In(sides) => &sides[..],
            Self::Choice(parts) => &parts[..],
            Self::List(parts) => parts,
            Self::Call(call) => &call.arguments,
            Self::Map(entries) => entries.as_flattened(),
            Self::Loop(of) => {
                of.range.visit(ranges, visitor);
                ranges.push(of.range.items());
                of.filter.iter().chain([&of.body]).for_each(|part| part.visit(ranges, visitor));
                ranges.pop();
                &[]
            }
        };
        for part in parts {
            part.visit(ranges, visitor);
        }
    }

    fn items(&self) -> Option<Variable> {
        match self {
            Self::Variable(variable @ Variable::Lookup(_), _) => Some(*variable),
            Self::Loop(of) if of.macro_ == Macro::Filter => of.range.items(),
            _ => None,
        }
    }

    fn constant_result(&self, has_old: Option<bool>) -> Option<bool> {
        let result = |node: &Self| node.constant_result(has_old);
        match self {
            Self::Constant(Val::Boolean(boolean)) => Some(*boolean),
            Self::Not(of) => result(of).map(|result| !result),
            Self::And(sides) | Self::Or(sides) => {
                let decides = matches!(self, Self::Or(_));
                match [result(&sides[0]), result(&sides[1])] {
                    [Some(left), Some(right)] if left == right => Some(left),
                    results => results.contains(&Some(decides)).then_some(decides),
                }
            }
            Self::Choice(parts) => result(&parts[if result(&parts[0])? { 1 } else { 2 }]),
            Self::Has(member) if matches!(member.of, Self::Variable(Variable::Before, _)) => {
                (has_old == Some(false)).then_some(false)
            }
            Self::Binary(operator @ (Operator::Equal | Operator::NotEqual), sides) => {
                let is_old_and_null = matches!(
                    &**sides,
                    [Self::Variable(Variable::Before, _), Self::Constant(Val::Null)]
                        | [Self::Constant(Val::Null), Self::Variable(Variable::Before, _)]
                );
                has_old
                    .filter(|_| is_old_and_null)
                    .map(|has_old| has_old == (*operator == Operator::NotEqual))
            }
            _ => None,
        }
    }
}
