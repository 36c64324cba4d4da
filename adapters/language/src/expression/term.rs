//! Compiled form of an expression.

use super::Shape;
use super::functions::Function;
use super::operator::Operator;
use super::pattern::Pattern;
use super::value::Val;

#[derive(Debug)]
pub(super) enum Term {
    Constant(Val<'static>),
    /// A variable, and its offset in the source.
    Variable(Variable, usize),
    Local(Local),
    Member(Box<MemberAccess>),
    Has(Box<MemberAccess>),
    Index(Box<[Term; 2]>),
    Not(Box<Term>),
    Negate(Box<Term>),
    And(Box<[Term; 2]>),
    Or(Box<[Term; 2]>),
    Choice(Box<[Term; 3]>),
    Binary(Operator, Box<[Term; 2]>),
    /// `x in y`: `y` is a list, or a map whose keys are searched.
    In(Box<[Term; 2]>),
    List(Box<[Term]>),
    Map(Box<[[Term; 2]]>),
    Call(Call),
    Matches(Box<Term>, Pattern),
    Loop(Box<Loop>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    After,
    Before,
    Caller,
    Now,
    Today,
    Parent,
    /// `meta`: the creator of an item and the time, in a condition on items.
    Meta,
    /// `claims`: the payload of a token.
    Claims,
    Lookup(usize),
}

impl Variable {
    pub(super) fn name(self, lookups: &[(String, Shape)]) -> &str {
        match self {
            Self::After => "self",
            Self::Before => "old",
            Self::Caller => "caller",
            Self::Now => "now",
            Self::Today => "today",
            Self::Parent => "parent",
            Self::Meta => "meta",
            Self::Claims => "claims",
            Self::Lookup(index) => lookups.get(index).map_or("", |(name, _)| name),
        }
    }
}

#[derive(Debug)]
pub(super) struct Local {
    pub place: usize,
    pub name: Box<str>,
    pub offset: usize,
}

#[derive(Debug)]
pub(super) struct Call {
    pub function: &'static Function,
    pub arguments: Box<[Term]>,
    pub is_method: bool,
}

impl Call {
    pub(super) fn is_latest(&self) -> bool {
        self.function.name == "latest"
    }
}

#[derive(Debug)]
pub(super) struct MemberAccess {
    pub of: Term,
    pub name: Box<str>,
    /// Name in JSON encoding, without quotes.
    pub encoded: Box<str>,
    pub path: Option<Box<str>>,
    pub offset: usize,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub macro_: Macro,
    pub range: Term,
    pub local: Local,
    pub filter: Option<Term>,
    pub body: Term,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

pub(super) const MACROS: [(Macro, &str); 5] = [
    (Macro::All, "all"),
    (Macro::Exists, "exists"),
    (Macro::ExistsOne, "exists_one"),
    (Macro::Map, "map"),
    (Macro::Filter, "filter"),
];

impl Macro {
    pub(super) const fn name(self) -> &'static str {
        MACROS[self as usize].1
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let name = if name == "existsOne" { "exists_one" } else { name };
        MACROS.iter().find(|(_, known)| *known == name).map(|(macro_, _)| *macro_)
    }
}
