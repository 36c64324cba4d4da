//! Evaluator. It charges each node and byte before the work is done.

use domain::Value;

use super::functions::MOST_PARAMETERS;
use super::meter::{ERROR, Meter, NODE};
use super::numbers::Number;
use super::term::{Call, Loop, Macro, MemberAccess, Term, Variable};
use super::value::{ELEMENT, List, Map, Val};
use super::{EvaluationError, Outcome, Scope, Shape, apply, complete, dates, shorten};

/// `caller` of an anonymous write.
const ANONYMOUS: &str = r#"{"id":null,"roles":[]}"#;
/// `caller` of an anonymous request, in a condition on items: it must not equal an unknown creator.
const ANONYMOUS_READER: &str = r#"{"roles":[]}"#;

pub(super) struct Evaluation<'a> {
    scope: &'a Scope<'a>,
    meter: &'a Meter,
    locals: Vec<Val<'a>>,
}

impl<'a> Evaluation<'a> {
    pub(super) const fn new(scope: &'a Scope<'a>, meter: &'a Meter) -> Self {
        Self { scope, meter, locals: Vec::new() }
    }

    /// An evaluation of a part within loops, whose elements these are.
    pub(super) const fn within(
        scope: &'a Scope<'a>,
        meter: &'a Meter,
        locals: Vec<Val<'a>>,
    ) -> Self {
        Self { scope, meter, locals }
    }

    pub(super) fn value(&mut self, node: &'a Term) -> Outcome<Val<'a>> {
        let Some(trace) = self.scope.trace else { return self.untraced(node) };
        let before = trace.len();
        let outcome = self.untraced(node);
        trace.note(node, self.scope.lookups, before, &outcome);
        outcome
    }

    fn untraced(&mut self, node: &'a Term) -> Outcome<Val<'a>> {
        self.meter.charge(NODE)?;
        match node {
            Term::Constant(constant) => Ok(constant.borrowed()),
            Term::Variable(variable, _) => self.variable(*variable),
            Term::Local(local) => {
                self.locals.get(local.place).cloned().ok_or(EvaluationError::BudgetExhausted)
            }
            Term::Member(member) => self.member(member),
            Term::Has(member) => self.has(member).map(Val::Boolean),
            Term::Index(parts) => self.index(&parts[0], &parts[1]),
            Term::Not(of) => self.boolean(of).map(|is_true| Val::Boolean(!is_true)),
            Term::Negate(of) => apply::negate(&self.value(of)?),
            Term::And(sides) => self.decide(sides, false).map(Val::Boolean),
            Term::Or(sides) => self.decide(sides, true).map(Val::Boolean),
            Term::Choice(parts) => {
                let chosen = if self.boolean(&parts[0])? { &parts[1] } else { &parts[2] };
                self.value(chosen)
            }
            Term::Binary(operator, sides) => {
                let left = self.value(&sides[0])?;
                let right = self.value(&sides[1])?;
                operator.apply(&left, &right, self.meter)
            }
            Term::In(sides) => self.is_in(sides).map(Val::Boolean),
            Term::List(elements) => self.list(elements),
            Term::Map(entries) => self.map(entries),
            Term::Call(call) => self.call(call),
            Term::Matches(of, pattern) => {
                let text = self.value(of)?;
                let Val::String(text) = &text else {
                    return Err(needs("matches", of, "a string", &text));
                };
                pattern.is_in(text.as_str(), self.meter).map(Val::Boolean)
            }
            Term::Loop(of) => self.repeat(of),
        }
    }

    pub(super) fn boolean(&mut self, node: &'a Term) -> Outcome<bool> {
        match self.value(node)? {
            Val::Boolean(boolean) => Ok(boolean),
            other => Err(wanted(node, "a boolean", &other)),
        }
    }

    fn variable(&self, variable: Variable) -> Outcome<Val<'a>> {
        let Scope { after, before, context, meta, .. } = self.scope;
        Ok(match variable {
            Variable::After => Val::Map(Map::Written(context.id, after)),
            Variable::Before => {
                before.map_or(Val::Null, |before| Val::Map(Map::Written(context.id, before)))
            }
            Variable::Caller => {
                let known = context.caller.as_ref().map(|caller| caller.described.encoded());
                let anonymous = if meta.is_some() { ANONYMOUS_READER } else { ANONYMOUS };
                Val::Map(Map::Json(Value::from_encoded(known.unwrap_or(anonymous))))
            }
            Variable::Claims => Val::Map(Map::Json(Value::from_encoded(after.encoded()))),
            Variable::Now => Val::Timestamp(dates::of_timestamp(context.now)),
            Variable::Today => return Val::made_string(self.meter, &context.today.to_string()),
            Variable::Parent => match context.parent {
                Some(parent) => return Val::of_id(self.meter, parent),
                None => Val::Null,
            },
            Variable::Meta => return meta.map_or(Ok(Val::Null), |meta| meta.value(self.meter)),
            Variable::Lookup(place) => return found(self.scope, place),
        })
    }

    fn member(&mut self, member: &'a MemberAccess) -> Outcome<Val<'a>> {
        let value = self.holder(member)?.get(&member.name, &member.encoded, self.meter)?;
        value.ok_or_else(|| match &member.path {
            Some(path) => failed!("`{path}` is missing; test has({path}) first"),
            None => failed!(
                "there is no member \"{}\"; test it with has() first",
                shorten(&member.name)
            ),
        })
    }

    fn has(&mut self, member: &'a MemberAccess) -> Outcome<bool> {
        self.holder(member)?.has(&member.name, &member.encoded, self.meter)
    }

    fn holder(&mut self, member: &'a MemberAccess) -> Outcome<Map<'a>> {
        let holder = match self.value(&member.of)? {
            Val::Map(map) => return Ok(map),
            other => other,
        };
        let (name, is) = (shorten(&member.name), holder.kind().with_article());
        Err(match (&holder, described(&member.of)) {
            (Val::Null, Some(path)) => {
                failed!("`{path}` is null and has no member \"{name}\"; test {path} != null first")
            }
            (_, Some(path)) => {
                failed!("`{path}` is {is} and has no member \"{name}\"")
            }
            (_, None) => failed!("{is} has no member \"{name}\""),
        })
    }

    fn index(&mut self, of: &'a Term, key: &'a Term) -> Outcome<Val<'a>> {
        let (holder, key) = (self.value(of)?, self.value(key)?);
        match &holder {
            Val::List(list) => {
                let at = key.as_number().and_then(Number::whole);
                let at = at.ok_or_else(|| key.is_not("an integer"))?;
                list.get(at, self.meter)?.ok_or_else(|| {
                    failed!("the list has no element {at}; the first is 0, and size() is the number of elements")
                })
            }
            Val::Map(map) => map.get_key(&key, self.meter)?.ok_or_else(|| match &key {
                Val::String(name) => {
                    failed!("there is no member \"{}\"", shorten(name.as_str()))
                }
                _ => failed!("the map has no such key"),
            }),
            _ => Err(wanted(of, "a list or a map", &holder)),
        }
    }

    /// Evaluates `&&` (decided by false) and `||` (decided by true). A decisive side hides an error
    /// of the other side.
    fn decide(&mut self, sides: &'a [Term; 2], decisive: bool) -> Outcome<bool> {
        let left = self.boolean(&sides[0]);
        if left == Ok(decisive) {
            return left;
        }
        self.absorb(&left)?;
        let right = self.boolean(&sides[1]);
        if right == Ok(decisive) {
            return right;
        }
        self.absorb(&right)?;
        left.and(right)
    }

    /// Charges an error that may be hidden. An exhausted budget is never hidden.
    fn absorb<T>(&self, outcome: &Outcome<T>) -> Outcome<()> {
        match outcome {
            Ok(_) => Ok(()),
            Err(EvaluationError::Failed(_)) => self.meter.charge(ERROR),
            Err(EvaluationError::BudgetExhausted) => Err(EvaluationError::BudgetExhausted),
        }
    }

    fn is_in(&mut self, sides: &'a [Term; 2]) -> Outcome<bool> {
        let (wanted_value, holder) = (self.value(&sides[0])?, self.value(&sides[1])?);
        match &holder {
            Val::List(list) => list.contains(&wanted_value, self.meter),
            Val::Map(map) => Ok(map.get_key(&wanted_value, self.meter)?.is_some()),
            _ => Err(wanted(&sides[1], "a list or a map", &holder)),
        }
    }

    fn list(&mut self, elements: &'a [Term]) -> Outcome<Val<'a>> {
        self.meter.hold(ELEMENT * elements.len())?;
        let elements = elements.iter().map(|element| self.value(element));
        elements.collect::<Outcome<_>>().map(Val::made_list)
    }

    fn map(&mut self, entries: &'a [[Term; 2]]) -> Outcome<Val<'a>> {
        self.meter.hold(2 * ELEMENT * entries.len())?;
        let mut made: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for [key, value] in entries {
            let (key, value) = (self.value(key)?, self.value(value)?);
            if !matches!(key, Val::String(_) | Val::Integer(_) | Val::Boolean(_)) {
                return Err(failed!(
                    "the key of a map must be a string, an integer or a boolean, not {}",
                    key.kind().with_article()
                ));
            }
            for (earlier, _) in &made {
                if earlier.equals(&key, self.meter)? {
                    return Err(failed!("a key of a map is given more than once"));
                }
            }
            made.push((key, value));
        }
        Ok(Val::Map(Map::Made(made.into())))
    }

    fn call(&mut self, Call { function, arguments, .. }: &'a Call) -> Outcome<Val<'a>> {
        let mut values = [const { Val::Null }; MOST_PARAMETERS];
        for ((argument, parameter), value) in
            arguments.iter().zip(function.parameters).zip(&mut values)
        {
            *value = self.value(argument)?;
            if !parameter.has(value.kind()) {
                return Err(needs(function.name, argument, &parameter.to_string(), value));
            }
        }
        function.call(&values, self.meter)
    }

    fn repeat(&mut self, of: &'a Loop) -> Outcome<Val<'a>> {
        let range = self.value(&of.range)?;
        let depth = self.locals.len();
        self.locals.push(Val::Null);
        let outcome = match &range {
            Val::List(list) => self.fold(of, list.iter(self.meter)),
            Val::Map(map) => self.fold(of, map.keys(self.meter)),
            _ => Err(wanted(&of.range, "a list or a map", &range)),
        };
        self.locals.truncate(depth);
        outcome
    }

    fn fold(
        &mut self,
        of: &'a Loop,
        elements: impl Iterator<Item = Outcome<Val<'a>>>,
    ) -> Outcome<Val<'a>> {
        let (mut error, mut matches, mut made) = (None, 0, Vec::new());
        for element in elements {
            self.locals[of.local.place] = element?;
            self.meter.charge(NODE)?;
            match of.macro_ {
                Macro::All | Macro::Exists => {
                    let decisive = of.macro_ == Macro::Exists;
                    let holds = self.boolean(&of.body);
                    self.absorb(&holds)?;
                    match holds {
                        Ok(holds) if holds == decisive => return Ok(Val::Boolean(decisive)),
                        Ok(_) => {}
                        Err(failure) => error = error.or(Some(failure)),
                    }
                }
                Macro::ExistsOne => matches += usize::from(self.boolean(&of.body)?),
                Macro::Filter => {
                    if self.boolean(&of.body)? {
                        self.meter.hold(ELEMENT)?;
                        made.push(self.locals[of.local.place].clone());
                    }
                }
                Macro::Map => {
                    let filter = of.filter.as_ref();
                    if filter.map_or(Ok(true), |filter| self.boolean(filter))? {
                        self.meter.hold(ELEMENT)?;
                        made.push(self.value(&of.body)?);
                    }
                }
            }
        }
        match (of.macro_, error) {
            (_, Some(error)) => Err(error),
            (Macro::All | Macro::Exists, None) => Ok(Val::Boolean(of.macro_ == Macro::All)),
            (Macro::ExistsOne, None) => Ok(Val::Boolean(matches == 1)),
            (Macro::Map | Macro::Filter, None) => Ok(Val::made_list(made)),
        }
    }
}

fn found<'a>(scope: &'a Scope<'a>, index: usize) -> Outcome<Val<'a>> {
    let Some((name, shape)) = scope.lookups.get(index) else { return Ok(Val::Null) };
    let items = complete(name, scope.found.get(index))?;
    let has_meta = scope.meta.is_some();
    Ok(match shape {
        Shape::One => items.first().map_or(Val::Null, |item| Val::Map(Map::Found(item, has_meta))),
        Shape::Many => Val::List(List::Items(items, has_meta)),
    })
}

pub(super) fn described(node: &Term) -> Option<&str> {
    use Variable::{After, Before, Caller, Claims, Meta, Parent};
    match node {
        Term::Member(member) => member.path.as_deref(),
        Term::Variable(variable @ (After | Before | Caller | Parent | Claims | Meta), _) => {
            Some(variable.name(&[]))
        }
        _ => None,
    }
}

fn wanted(node: &Term, wanted: &str, value: &Val<'_>) -> EvaluationError {
    let is = value.kind().with_article();
    match described(node) {
        Some(path) => failed!("`{path}` must be {wanted} here, not {is}"),
        None => value.is_not(wanted),
    }
}

fn needs(function: &str, argument: &Term, wanted: &str, value: &Val<'_>) -> EvaluationError {
    let is = value.kind().with_article();
    match described(argument) {
        Some(path) => failed!("{function}() takes {wanted}, and `{path}` is {is}"),
        None => failed!("{function}() takes {wanted}, not {is}"),
    }
}
