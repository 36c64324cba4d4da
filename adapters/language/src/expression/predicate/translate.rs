//! Translation of a compiled condition.

use domain::predicate::{Literal, Operand};

use super::super::evaluate::Evaluation;
use super::super::operator::Operator;
use super::super::term::{Call, Local, Loop, Macro, Term, Variable};
use super::super::value::Val;
use super::place::{Chosen, Located};
use super::{Bound, Outcomes, Source, Translated, Translation, compare};

/// Limit on constants: each becomes a part of the predicate.
const MOST_CONSTANTS: usize = 2_000;
/// Limit on conditions of choices within each other: each doubles the predicate.
const MOST_CHOICES: usize = 4;

impl<'a> Translation<'a> {
    pub(super) fn condition(&mut self, term: &'a Term) -> Translated {
        match term {
            Term::Not(of) => self.condition(of).map(Outcomes::negated),
            Term::And(sides) => self.each(&sides[..]).map(Outcomes::all),
            Term::Or(sides) => self.each(&sides[..]).map(Outcomes::any),
            Term::Choice(parts) => self.choice(term, parts),
            _ if self.source(term) < Source::Item => Ok(match self.constant(term) {
                Some(Val::Boolean(holds)) => Outcomes::of(holds),
                _ => Outcomes::UNDECIDED,
            }),
            Term::Has(member) => {
                let Located { of, operand } = self.member(term, &member.of, &member.name)?;
                self.of_item(of.as_ref(), compare::has(&operand))
            }
            Term::Binary(operator, sides) => self.compare(term, *operator, sides),
            Term::In(sides) => self.is_in(term, sides),
            Term::Call(call) if call.function.name == "startsWith" => self.starts_with(term, call),
            Term::Loop(of) => self.repeat(term, of),
            term => self.test(term, Some(Vec::new()), |operand, _| compare::flag(operand)),
        }
    }

    fn choice(&mut self, term: &'a Term, parts: &'a [Term; 3]) -> Translated {
        self.choices += 1;
        if self.choices > MOST_CHOICES {
            let reason = "too many conditions before `?` have a `? :` themselves; use && and ||";
            return Err(self.error(term, reason));
        }
        let condition = self.condition(&parts[0])?;
        self.choices -= 1;
        let (then, otherwise) = (self.condition(&parts[1])?, self.condition(&parts[2])?);
        let (is_true, is_false) = (condition.is_true, condition.is_false);
        let then = then.map(|holds| is_true.clone().and(holds));
        let otherwise = otherwise.map(|holds| is_false.clone().and(holds));
        Ok(Outcomes {
            is_true: then.is_true.or(otherwise.is_true),
            is_false: then.is_false.or(otherwise.is_false),
        })
    }

    fn each(&mut self, terms: &'a [Term]) -> Translated<Vec<Outcomes>> {
        terms.iter().map(|term| self.condition(term)).collect()
    }

    /// Tests a value of an item with constants. Without them the test is undecided.
    fn test(
        &mut self,
        term: &'a Term,
        constants: Option<Vec<Val<'a>>>,
        test: impl FnOnce(&Operand, &[Literal]) -> Outcomes,
    ) -> Translated {
        let Located { of, operand } = self.place(term)?;
        let literals = match constants {
            Some(constants) => self.literals(term, &constants)?,
            None => None,
        };
        let outcomes = literals.map_or(Outcomes::UNDECIDED, |literals| test(&operand, &literals));
        self.of_item(of.as_ref(), outcomes)
    }

    /// Translates the body of a loop.
    pub(super) fn within(&mut self, element: Bound<'a>, body: &'a Term) -> Translated {
        self.locals.push(element);
        let outcomes = self.condition(body);
        self.locals.pop();
        outcomes
    }

    pub(super) fn is_in_element(&self) -> bool {
        self.locals.iter().any(|local| matches!(local, Bound::Element))
    }

    pub(super) fn is_element(&self, local: &Local) -> bool {
        matches!(self.locals.get(local.place), Some(Bound::Element))
    }

    pub(super) fn source(&self, term: &Term) -> Source {
        let mut source = Source::Literal;
        term.visit(&mut Vec::new(), &mut |part, _| {
            source = source.max(match part {
                Term::Variable(Variable::Caller | Variable::Today, _) => Source::Context,
                Term::Variable(..) => Source::Item,
                Term::Local(local) => match self.locals.get(local.place) {
                    Some(Bound::Element) => Source::Item,
                    Some(Bound::Constant(None)) => Source::Context,
                    // An element of a loop within the term depends on the range of the loop.
                    Some(Bound::Constant(Some(_))) | None => Source::Literal,
                },
                _ => Source::Literal,
            });
        });
        source
    }

    /// Evaluates a part that does not depend on the item; `None` if it fails or is not known yet.
    fn constant(&self, term: &'a Term) -> Option<Val<'a>> {
        if !self.is_final && self.source(term) != Source::Literal {
            return None;
        }
        let locals = self.locals.iter().map(|local| match local {
            Bound::Constant(Some(value)) => value.clone(),
            Bound::Constant(None) | Bound::Element => Val::Null,
        });
        Evaluation::within(self.scope, self.meter, locals.collect()).value(term).ok()
    }

    /// Returns the values as literals; `None` if one is not a literal.
    fn literals(&mut self, at: &Term, values: &[Val<'_>]) -> Translated<Option<Vec<Literal>>> {
        let literals: Result<_, _> = values.iter().map(compare::literal).collect();
        // One is in the source, or an element of a loop.
        let is_few = self.count(at, values.len().saturating_sub(1))?;
        self.known(at, literals.map(|literals| is_few.then_some(literals))).map(Option::flatten)
    }

    /// Returns `false` if there are too many constants.
    fn count(&mut self, at: &Term, constants: usize) -> Translated<bool> {
        self.constants += constants;
        let reason = "a condition of a policy compares items with at most 2,000 constants";
        let is_few = self.constants <= MOST_CONSTANTS;
        Ok(self.known(at, if is_few { Ok(()) } else { Err(reason) })?.is_some())
    }

    /// Returns a value that depends on constants. An invalid constant in the source is an error. One
    /// of the caller leaves the condition undecided.
    fn known<T>(&self, at: &Term, value: Result<T, &str>) -> Translated<Option<T>> {
        match value {
            Err(reason) if !self.is_final => Err(self.error(at, reason)),
            value => Ok(value.ok()),
        }
    }

    fn compare(
        &mut self,
        term: &'a Term,
        operator: Operator,
        [left, right]: &'a [Term; 2],
    ) -> Translated {
        let Some(swapped) = operator.swapped() else { return self.refuse(term) };
        let (operator, item, other) = match (self.source(left), self.source(right)) {
            (Source::Item, Source::Item) => return self.equal(term, operator, left, right),
            (Source::Item, _) => (operator, left, right),
            _ => (swapped, right, left),
        };
        if let Some((chosen, is_counted)) = self.chosen(item)? {
            let exists = self.exists(&chosen, Outcomes::of(true))?;
            return match existence(operator, other, is_counted) {
                Some(true) => Ok(exists),
                Some(false) => Ok(exists.negated()),
                None => self.refuse(item),
            };
        }
        let constant = self.constant(other);
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        if matches!(constant, Some(Val::Boolean(_))) && !is_equality && !self.is_final {
            return Err(self.error(item, "compare booleans with == or !="));
        }
        self.test(item, constant.map(|constant| vec![constant]), |operand, literals| {
            compare::compare(operand, operator, literals)
        })
    }

    /// Returns the items of `size(items)`, or the item of a lookup; `None` for other terms.
    fn chosen(&mut self, term: &'a Term) -> Translated<Option<(Chosen, bool)>> {
        match term {
            Term::Call(Call { function, arguments, .. }) if function.name == "size" => {
                match arguments.first().map(|items| self.items(items)).transpose()?.flatten() {
                    Some(items) => Ok(Some((items, true))),
                    None => self.refuse(term),
                }
            }
            _ => Ok(self.item(term)?.map(|item| (item, false))),
        }
    }

    fn equal(
        &mut self,
        term: &'a Term,
        operator: Operator,
        left: &'a Term,
        right: &'a Term,
    ) -> Translated {
        let (left, right) = (self.place(left)?, self.place(right)?);
        let is_own = left.of.is_none() && right.of.is_none();
        if !self.has_old || !is_own {
            return self.refuse(term);
        }
        let outcomes = compare::equal(left.operand, right.operand);
        match operator {
            Operator::Equal => Ok(outcomes),
            Operator::NotEqual => Ok(outcomes.negated()),
            _ => self.refuse(term),
        }
    }

    fn is_in(&mut self, term: &'a Term, [wanted, holder]: &'a [Term; 2]) -> Translated {
        match (self.source(wanted), self.source(holder)) {
            (Source::Item, Source::Item) => self.refuse(term),
            (Source::Item, _) => self.test(wanted, self.elements(holder), compare::is_any),
            _ => {
                let constant = self.constant(wanted).map(|constant| vec![constant]);
                self.test(holder, constant, compare::includes)
            }
        }
    }

    /// Returns the elements of a constant list, or the keys of a constant map.
    fn elements(&self, term: &'a Term) -> Option<Vec<Val<'a>>> {
        match self.constant(term)? {
            Val::List(list) => list.iter(self.meter).collect::<Result<_, _>>().ok(),
            Val::Map(map) => map.keys(self.meter).collect::<Result<_, _>>().ok(),
            _ => None,
        }
    }

    fn starts_with(&mut self, term: &'a Term, call: &'a Call) -> Translated {
        let [text, beginning] = &*call.arguments else { return self.refuse(term) };
        if self.source(beginning) == Source::Item {
            return self.refuse(term);
        }
        let constant = self.constant(beginning).map(|constant| vec![constant]);
        self.test(text, constant, compare::starts_with)
    }

    fn repeat(&mut self, term: &'a Term, of: &'a Loop) -> Translated {
        let is_all = match of.macro_ {
            Macro::All => true,
            Macro::Exists => false,
            _ => return self.refuse(term),
        };
        if let Some(items) = self.items(&of.range)? {
            let body = self.within(Bound::Element, &of.body)?;
            // All elements meet a condition if there is no element that does not.
            return if is_all {
                self.exists(&items, body.negated()).map(Outcomes::negated)
            } else {
                self.exists(&items, body)
            };
        }
        if self.source(&of.range) == Source::Item {
            return self.refuse(term);
        }
        let elements = match self.elements(&of.range) {
            Some(elements) if self.count(&of.body, elements.len())? => elements,
            _ => {
                self.within(Bound::Constant(None), &of.body)?;
                return Ok(Outcomes::UNDECIDED);
            }
        };
        let parts = elements
            .into_iter()
            .map(|element| self.within(Bound::Constant(Some(element)), &of.body));
        let parts: Vec<_> = parts.collect::<Translated<_>>()?;
        Ok(if is_all { Outcomes::all(parts) } else { Outcomes::any(parts) })
    }
}

/// Returns whether a comparison of an item with null, or of a number of items with a constant, is
/// true if there is an item; `None` for other comparisons.
fn existence(operator: Operator, constant: &Term, is_counted: bool) -> Option<bool> {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    Some(match (is_counted, operator, constant) {
        (false, Equal, Term::Constant(Val::Null))
        | (true, Equal | LessOrEqual, Term::Constant(Val::Integer(0)))
        | (true, Less, Term::Constant(Val::Integer(1))) => false,
        (false, NotEqual, Term::Constant(Val::Null))
        | (true, NotEqual | Greater, Term::Constant(Val::Integer(0)))
        | (true, GreaterOrEqual, Term::Constant(Val::Integer(1))) => true,
        _ => return None,
    })
}
