//! Compiler: the parser checks the grammar. This module checks names, arguments and kinds.

mod calls;
mod names;
mod operators;
mod source;

use cel::common::ast::{CallExpr, Expr, IdedExpr, SourceInfo, operators as signs};
use domain::nearest;

use super::kinds::{ANY, BOOLEAN, DURATION, Kinds, NUMBER};
use super::operator::Operator;
use super::term::{Macro, Term};
use super::value::Val;
use super::{Expression, ExpressionError, Shape, shorten};
pub use names::{Variables, is_taken};

const MOST_LEVELS: usize = 64;
/// Limit on regular expressions: each takes time to compile.
const MOST_PATTERNS: usize = 32;
const MOST_TABLES: usize = 1 << 20;

type Compiled<T> = Result<T, ExpressionError>;

struct Typed {
    node: Term,
    kinds: Kinds,
    elements: Kinds,
}

impl Typed {
    const fn new(node: Term, kinds: Kinds) -> Self {
        Self { node, kinds, elements: ANY }
    }
}

impl Expression {
    /// Compiles an expression about a write. Its value must be of `wanted`.
    pub fn compile(
        source: &str,
        wanted: Kinds,
        lookups: &[(String, Shape)],
    ) -> Result<Self, ExpressionError> {
        Self::compile_with(Variables::OF_A_WRITE, source, wanted, lookups)
    }

    /// Compiles an expression with these variables. Its value must be of `wanted`.
    pub fn compile_with(
        variables: Variables,
        source: &str,
        wanted: Kinds,
        lookups: &[(String, Shape)],
    ) -> Result<Self, ExpressionError> {
        source::read(source, |root, places| {
            let mut compiler = Compiler {
                places,
                variables,
                lookups,
                locals: Vec::new(),
                level: 0,
                uses_lookups: false,
                patterns: 0,
                tables: 0,
            };
            let typed = compiler.demanded(root, wanted, "the expression")?;
            Ok(Self {
                root: typed.node,
                #[cfg(test)]
                kinds: typed.kinds,
                uses_lookups: compiler.uses_lookups,
            })
        })
    }
}

fn error(offset: usize, reason: String) -> ExpressionError {
    ExpressionError { offset, reason }
}

struct Compiler<'s> {
    places: &'s SourceInfo,
    variables: Variables,
    lookups: &'s [(String, Shape)],
    locals: Vec<(String, Kinds)>,
    level: usize,
    uses_lookups: bool,
    patterns: usize,
    tables: usize,
}

impl Compiler<'_> {
    fn expression(&mut self, expression: &IdedExpr) -> Compiled<Typed> {
        if self.level == MOST_LEVELS {
            let reason = format!(
                "the expression has more than {MOST_LEVELS} levels; split it into several rules"
            );
            return self.refuse(expression, reason);
        }
        self.level += 1;
        let typed = self.part(expression);
        self.level -= 1;
        typed
    }

    fn part(&mut self, expression: &IdedExpr) -> Compiled<Typed> {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(expression, literal),
            Expr::Ident(name) => self.variable(expression, name),
            Expr::Select(select) => self.selected(select),
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => self.list(&list.elements),
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(of) => {
                let name = shorten(&of.type_name);
                let reason =
                    format!("`{name}{{…}}` is not supported; write a map: {{'name': value}}");
                self.refuse(expression, reason)
            }
            Expr::Comprehension(_) | Expr::Unspecified => {
                self.refuse(expression, "this cannot be read")
            }
        }
    }

    fn refuse<T>(&self, at: &IdedExpr, reason: impl Into<String>) -> Compiled<T> {
        Err(error(self.offset(at), reason.into()))
    }

    fn offset(&self, at: &IdedExpr) -> usize {
        let own = self.places.offset_for(at.id).map_or(0, |(start, _)| start as usize);
        let named = |name: &str| {
            self.places.source.get(..own).and_then(|before| before.rfind(name)).unwrap_or(own)
        };
        match &at.expr {
            Expr::Select(select) => own.min(self.offset(&select.operand)),
            Expr::Call(CallExpr { target: Some(target), .. }) => own.min(self.offset(target)),
            Expr::Call(call) if call.func_name.starts_with(char::is_alphabetic) => {
                named(&call.func_name)
            }
            Expr::Struct(of) => named(&of.type_name),
            Expr::Call(CallExpr { args, .. }) if args.len() > 1 => own.min(self.offset(&args[0])),
            _ => own,
        }
    }

    fn demanded(&mut self, part: &IdedExpr, wanted: Kinds, what: &str) -> Compiled<Typed> {
        let typed = self.expression(part)?;
        if typed.kinds.and(wanted).is_none() {
            return self.refuse(part, format!("{what} must be {wanted}, not {}", typed.kinds));
        }
        Ok(typed)
    }

    fn call(&mut self, at: &IdedExpr, call: &CallExpr) -> Compiled<Typed> {
        let name = call.func_name.as_str();
        match (&call.target, call.args.as_slice()) {
            (None, [left, right]) => match name {
                signs::LOGICAL_AND => self.condition(Term::And, left, right),
                signs::LOGICAL_OR => self.condition(Term::Or, left, right),
                signs::INDEX => self.index(left, right),
                signs::IN => self.is_in(left, right),
                _ => match Operator::named(name) {
                    Some(operator) => self.binary(at, operator, left, right),
                    None => self.function(at, call),
                },
            },
            (None, [condition, then, otherwise]) if name == signs::CONDITIONAL => {
                self.choice(condition, then, otherwise)
            }
            (None, [of]) if name == signs::LOGICAL_NOT => {
                let of = self.demanded(of, BOOLEAN, "the operand of `!`")?;
                Ok(Typed::new(Term::Not(Box::new(of.node)), BOOLEAN))
            }
            (None, [of]) if name == signs::NEGATE => {
                let negated = NUMBER.or(DURATION);
                let of = self.demanded(of, negated, "the operand of `-`")?;
                Ok(Typed::new(Term::Negate(Box::new(of.node)), of.kinds.and(negated)))
            }
            (None, [of]) if name == signs::HAS => self.has(of),
            (Some(target), [variable, rest @ ..])
                if Macro::named(name).is_some() && !rest.is_empty() =>
            {
                self.repeat(at, name, target, variable, rest)
            }
            _ => self.function(at, call),
        }
    }
}

fn did_you_mean(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(guess) => format!("did you mean `{guess}`?"),
        None => format!("known: {}", known.join(", ")),
    }
}

fn constant_of(constant: Val<'static>) -> Typed {
    let kinds = Kinds::of(constant.kind());
    Typed::new(Term::Constant(constant), kinds)
}

fn constants(nodes: &[Term]) -> Option<Vec<Val<'static>>> {
    let constant = |node: &Term| match node {
        Term::Constant(constant) => Some(constant.clone()),
        _ => None,
    };
    nodes.iter().map(constant).collect()
}
