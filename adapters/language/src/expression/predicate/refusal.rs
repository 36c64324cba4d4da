//! Errors for parts that databases cannot select by.

use super::super::operator::Operator;
use super::super::term::{Macro, Term, Variable};
use super::super::{ExpressionError, LookupBy, LookupTarget};
use super::{Translated, Translation};

const SUPPORTED: &str = "use ==, <, in, startsWith() or has()";

impl Translation<'_> {
    pub(super) fn refuse<T>(&self, term: &Term) -> Translated<T> {
        Err(self.error(term, self.reason(term)))
    }

    /// Returns an error at the first use of the item in a part.
    pub(super) fn error(&self, term: &Term, reason: impl Into<String>) -> ExpressionError {
        let mut offsets = Vec::new();
        term.visit(&mut Vec::new(), &mut |part, _| match part {
            Term::Variable(Variable::Caller | Variable::Today, _) => {}
            Term::Variable(_, offset) => offsets.push(*offset),
            Term::Local(local) if self.is_element(local) => offsets.push(local.offset),
            _ => {}
        });
        ExpressionError { offset: offsets.into_iter().min().unwrap_or(0), reason: reason.into() }
    }

    fn reason(&self, term: &Term) -> String {
        if self.is_in_element() && has_other_item(term) {
            return "within exists(), all() and filter() of a lookup, only its element and constants can be used, not `self`, `old`, `meta`, `parent` or a lookup".to_owned();
        }
        let (term_name, instead) = match term {
            Term::Member(member) | Term::Has(member) => return self.reason(&member.of),
            Term::Variable(..) | Term::Local(_) => return self.bare(term),
            Term::Matches(..) => ("matches", SUPPORTED),
            Term::Call(call) => (call.function.name, instead_of_call(call.function.name)),
            Term::Loop(of) => (of.macro_.name(), instead_of_loop(of.macro_)),
            Term::Binary(operator, _) => (operator.sign(), instead_of_operator(*operator)),
            Term::In(_) => (
                "in",
                "one side must not depend on the item, as in self.a in [\"x\", \"y\"] or \"x\" in self.tags",
            ),
            Term::Choice(_) => {
                ("? :", "choose between conditions, as in has(self.a) ? self.a == 1 : self.b == 1")
            }
            Term::Negate(_) => ("-", SUPPORTED),
            Term::Index(_) => (
                "[…]",
                "name a member, as in self.a or self[\"a b\"]; search a list by \"x\" in self.tags",
            ),
            _ => ("[…]", "compare each member: self.a == 1 || self.b == 1"),
        };
        format!(
            "`{term_name}` cannot be used on items in this way in a policy, because databases select items by it; {instead}"
        )
    }

    /// Returns the reason for an item that is used as a value.
    fn bare(&self, term: &Term) -> String {
        let (name, instead) = match term {
            Term::Local(local) => (&*local.name, "test a member of it, such as x.id"),
            Term::Variable(Variable::Before, _) => {
                ("old", "it is never null in a change; compare members, as in self.a == old.a")
            }
            Term::Variable(Variable::Lookup(place), _) => match self.lookups.get(*place) {
                Some((name, LookupTarget { by: LookupBy::Id, .. })) => {
                    (&**name, "compare it with null, or test a member of it")
                }
                Some((name, _)) => (&**name, "use exists(), all(), latest(x) or size(x) == 0"),
                None => ("", ""),
            },
            Term::Variable(variable, _) => {
                (variable.name(&[]), "test a member of it, such as self.id")
            }
            _ => ("", ""),
        };
        format!("`{name}` is no value that a policy can test; {instead}")
    }
}

fn instead_of_call(name: &str) -> &'static str {
    match name {
        "size" => "test whether a lookup has items: size(x) == 0, size(x) != 0 or size(x) > 0",
        "latest" => {
            "write latest(x).a == 1 or latest(x) == null, where x is a lookup, perhaps with filter()"
        }
        "startsWith" => "write self.a.startsWith(x), where x does not depend on the item",
        _ => SUPPORTED,
    }
}

const fn instead_of_loop(macro_: Macro) -> &'static str {
    match macro_ {
        Macro::All | Macro::Exists => {
            "call it on a lookup or on a constant list; search a list of the item by \"x\" in self.tags"
        }
        _ => "use exists(), all() or size(x) == 0 of a lookup",
    }
}

const fn instead_of_operator(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal | Operator::NotEqual => {
            "one side must not depend on the item, except in `change`, which compares members of `self` and `old`"
        }
        _ => "one side must not depend on the item, as in self.end_date < add_days(today, 30)",
    }
}

fn has_other_item(term: &Term) -> bool {
    let mut has_one = false;
    term.visit(&mut Vec::new(), &mut |part, _| {
        use Variable::{After, Before, Lookup, Meta, Parent};
        has_one |= matches!(part, Term::Variable(After | Before | Lookup(_) | Meta | Parent, _));
    });
    has_one
}
