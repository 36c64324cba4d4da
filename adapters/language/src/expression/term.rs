//! An expression as it is evaluated.

use super::Shape;
use super::functions::Function;
use super::operator::Operator;
use super::pattern::Pattern;
use super::value::Val;

#[derive(Debug)]
pub(super) enum Term {
    Constant(Val<'static>),
    Variable(Variable),
    /// The variable of an enclosing `all`, `map` and so on.
    Local(Local),
    Member(Box<MemberAccess>),
    /// `has(self.title)`
    Has(Box<MemberAccess>),
    /// The element of a list or the value of a map.
    Index(Box<[Term; 2]>),
    Not(Box<Term>),
    Negate(Box<Term>),
    And(Box<[Term; 2]>),
    Or(Box<[Term; 2]>),
    /// `condition ? then : otherwise`
    Choice(Box<[Term; 3]>),
    Binary(Operator, Box<[Term; 2]>),
    /// `x in y`, where `y` is a list, or a map whose keys are searched.
    In(Box<[Term; 2]>),
    List(Box<[Term]>),
    Map(Box<[[Term; 2]]>),
    Call(Call),
    Matches(Box<Term>, Pattern),
    Loop(Box<Loop>),
}

/// A variable that an expression may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `self`
    After,
    /// `old`
    Before,
    /// `caller`
    Caller,
    /// `now`
    Now,
    /// `today`
    Today,
    /// `parent`
    Parent,
    /// `claims`: the payload of a token.
    Claims,
    /// The result of the lookup at this index.
    Lookup(usize),
}

impl Variable {
    /// Its name in the source. `lookups` are the names of the lookup variables.
    pub(super) fn name(self, lookups: &[(String, Shape)]) -> &str {
        match self {
            Self::After => "self",
            Self::Before => "old",
            Self::Caller => "caller",
            Self::Now => "now",
            Self::Today => "today",
            Self::Parent => "parent",
            Self::Claims => "claims",
            Self::Lookup(index) => lookups.get(index).map_or("", |(name, _)| name),
        }
    }
}

#[derive(Debug)]
pub(super) struct Local {
    /// Its place among the variables of the loops around.
    pub place: usize,
    pub name: Box<str>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub function: &'static Function,
    pub arguments: Box<[Term]>,
    /// It is written as `x.f()`.
    pub is_method: bool,
}

#[derive(Debug)]
pub(super) struct MemberAccess {
    pub of: Term,
    pub name: Box<str>,
    /// The name as it stands in JSON, without quotes.
    pub encoded: Box<str>,
    /// Its source, when it is a chain of names: `self.lead.name`.
    pub path: Option<Box<str>>,
    /// Where it begins: bytes into the source.
    pub offset: usize,
}

/// A macro on the elements of a list or the keys of a map.
#[derive(Debug)]
pub(super) struct Loop {
    pub macro_: Macro,
    pub range: Term,
    /// Its variable.
    pub local: Local,
    /// The condition on elements, when `map` has three arguments.
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

/// Every macro, and its name.
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
