//! Variables and their members.

use cel::common::ast::{Expr, IdedExpr, SelectExpr};

use super::super::evaluate::described;
use super::super::kinds::{
    ANY, BOOLEAN, JSON, Kinds, LIST, MAP, NULL, STRING, TIMESTAMP, ValueKind,
};
use super::super::term::{Local, MemberAccess, Term, Variable};
use super::super::value::Val;
use super::super::{Shape, shorten};
use super::{Compiled, Compiler, Typed, constant_of, did_you_mean};

/// Known names in addition to lookups, and the kinds of their values.
#[derive(Clone, Copy, Debug)]
pub struct Variables(&'static [(Variable, Kinds)]);

impl Variables {
    pub const OF_A_WRITE: Self = Self(WRITE);
    pub const OF_A_TOKEN: Self = Self(&[(Variable::Claims, MAP)]);

    fn find(self, name: &str) -> Option<(Variable, Kinds)> {
        self.0.iter().find(|(variable, _)| variable.name(&[]) == name).copied()
    }
}

const WRITE: &[(Variable, Kinds)] = &[
    (Variable::After, MAP),
    (Variable::Before, MAP.or(NULL)),
    (Variable::Caller, MAP),
    (Variable::Now, TIMESTAMP),
    (Variable::Today, STRING),
    (Variable::Parent, STRING.or(NULL)),
];

/// Returns `true` for variables of every write. A lookup cannot have such a name.
pub fn is_taken(name: &str) -> bool {
    Variables::OF_A_WRITE.find(name).is_some() || ValueKind::of_type(name).is_some()
}

impl Compiler<'_> {
    pub(super) fn variable(&mut self, at: &IdedExpr, name: &str) -> Compiled<Typed> {
        if let Some(place) = self.locals.iter().rposition(|(local, _)| local == name) {
            let local = Local { place, name: name.into() };
            return Ok(Typed::new(Term::Local(local), self.locals[place].1));
        }
        if let Some(place) = self.lookups.iter().position(|(lookup, _)| lookup == name) {
            self.uses_lookups = true;
            let (kinds, elements) = match self.lookups[place].1 {
                Shape::One => (MAP.or(NULL), STRING),
                Shape::Many => (LIST, MAP),
            };
            return Ok(Typed { node: Term::Variable(Variable::Lookup(place)), kinds, elements });
        }
        if let Some((variable, kinds)) = self.variables.find(name) {
            let node = Term::Variable(variable);
            return Ok(Typed { node, kinds, elements: STRING });
        }
        if let Some(kind) = ValueKind::of_type(name) {
            return Ok(constant_of(Val::Type(kind)));
        }
        let lookups = self.lookups.iter().map(|(name, _)| name.as_str());
        let locals = self.locals.iter().map(|(name, _)| name.as_str());
        let known = self.variables.0.iter().map(|(variable, _)| variable.name(&[]));
        let known = known.chain(lookups).chain(locals);
        let hint = did_you_mean(name, &known.collect::<Vec<_>>());
        self.refuse(at, format!("there is no variable `{}`; {hint}", shorten(name)))
    }

    pub(super) fn selected(&mut self, select: &SelectExpr) -> Compiled<Typed> {
        let kind = if let Expr::Select(middle) = &select.operand.expr
            && let Expr::Ident(first) = &middle.operand.expr
        {
            ValueKind::of_type(&[first, &middle.field, &select.field].map(String::as_str).join("."))
        } else {
            None
        };
        match kind {
            Some(kind) => Ok(constant_of(Val::Type(kind))),
            None => self.select(select).map(Self::member),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Compiled<MemberAccess> {
        let of = self.demanded(&select.operand, MAP, "a value with members")?;
        Ok(self.member_of(of.node, &select.field, &select.operand))
    }

    pub(super) fn member_of(&self, of: Term, name: &str, at: &IdedExpr) -> MemberAccess {
        let quoted = domain::json::encode_string(name);
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let root = match &of {
            Term::Variable(lookup @ Variable::Lookup(_)) => Some(lookup.name(self.lookups)),
            Term::Local(local) => Some(&*local.name),
            of => described(of),
        };
        let path = root.filter(|_| is_word).map(|root| shorten(&format!("{root}.{name}")).into());
        MemberAccess {
            of,
            name: name.into(),
            encoded: quoted[1..quoted.len() - 1].into(),
            path,
            offset: self.offset(at),
        }
    }

    pub(super) fn member(member: MemberAccess) -> Typed {
        let is_id = &*member.name == "id";
        let kinds = match member.of {
            Term::Variable(Variable::After | Variable::Before) if is_id => STRING,
            Term::Variable(Variable::Caller) if is_id => STRING.or(NULL),
            Term::Variable(_) => JSON,
            _ => ANY,
        };
        Typed::new(Term::Member(Box::new(member)), kinds)
    }

    pub(super) fn has(&mut self, of: &IdedExpr) -> Compiled<Typed> {
        let Expr::Select(select) = &of.expr else {
            return self.refuse(of, "has() takes a member by its name, such as has(self.title)");
        };
        let member = self.select(select)?;
        Ok(Typed::new(Term::Has(Box::new(member)), BOOLEAN))
    }
}
