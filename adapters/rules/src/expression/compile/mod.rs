//! From source to what is evaluated: the grammar is the parser's, names, arguments and kinds are
//! checked here.

mod calls;
mod names;
mod operators;
mod source;

use cel::common::ast::{CallExpr, Expr, IdedExpr, SourceInfo, operators as signs};

use super::kinds::Kinds;
use super::node::{Constant, Macro, Node};
use super::operator::Operator;
use super::{ExpressionFault, Shape, shorten};
pub(super) use names::is_taken;

/// Most levels of an expression.
const MOST_LEVELS: usize = 64;

type Outcome<T> = Result<T, ExpressionFault>;

/// A compiled part, and what is known of its value.
struct Typed {
    node: Node,
    kinds: Kinds,
    /// The kinds of a list's elements or of a map's keys.
    elements: Kinds,
}

impl Typed {
    const fn new(node: Node, kinds: Kinds) -> Self {
        Self { node, kinds, elements: Kinds::ANY }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Compiled {
    pub root: Node,
    /// The kinds that its value may have.
    #[cfg(test)]
    pub kinds: Kinds,
    pub uses_lookups: bool,
}

/// Reads and checks a source whose value is to be of these kinds.
pub(super) fn compile(
    source: &str,
    wanted: Kinds,
    lookups: &[(String, Shape)],
) -> Outcome<Compiled> {
    source::read(source, |root, places| {
        let mut compiler =
            Compiler { places, lookups, locals: Vec::new(), level: 0, uses_lookups: false };
        let typed = compiler.expression(root)?;
        let typed = compiler.demand(typed, wanted, root, "the expression")?;
        Ok(Compiled {
            root: typed.node,
            #[cfg(test)]
            kinds: typed.kinds,
            uses_lookups: compiler.uses_lookups,
        })
    })
}

fn error(offset: usize, reason: String) -> ExpressionFault {
    ExpressionFault { offset, reason }
}

struct Compiler<'s> {
    places: &'s SourceInfo,
    lookups: &'s [(String, Shape)],
    /// The variables of the loops around, and the kinds of their values.
    locals: Vec<(String, Kinds)>,
    level: usize,
    uses_lookups: bool,
}

impl Compiler<'_> {
    fn expression(&mut self, expression: &IdedExpr) -> Outcome<Typed> {
        if self.level == MOST_LEVELS {
            return self.refuse(
                expression,
                format!(
                    "the expression has more than {MOST_LEVELS} levels; split it into several rules"
                ),
            );
        }
        self.level += 1;
        let typed = self.part(expression);
        self.level -= 1;
        typed
    }

    fn part(&mut self, expression: &IdedExpr) -> Outcome<Typed> {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(expression, literal),
            Expr::Ident(name) => self.variable(expression, name),
            Expr::Select(select) => self.selected(select),
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => self.list(&list.elements),
            Expr::Map(map) => self.map(map.entries.iter().map(|entry| &entry.expr)),
            Expr::Struct(of) => self.refuse(
                expression,
                format!(
                    "`{}{{…}}` is not known here; write a map: {{'name': value}}",
                    shorten(&of.type_name)
                ),
            ),
            Expr::Comprehension(_) | Expr::Unspecified => {
                self.refuse(expression, "this cannot be read".to_owned())
            }
        }
    }

    fn refuse<T>(&self, at: &IdedExpr, reason: String) -> Outcome<T> {
        Err(error(self.offset(at), reason))
    }

    /// Where a part begins; of a chain and of an operator, where its first part does.
    fn offset(&self, at: &IdedExpr) -> usize {
        let own = self.places.offset_for(at.id).map_or(0, |(start, _)| start as usize);
        // The parser gives the place of the parenthesis of a call.
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

    /// The part, whose value must be able to be of these kinds.
    fn demand(&self, typed: Typed, wanted: Kinds, at: &IdedExpr, what: &str) -> Outcome<Typed> {
        if typed.kinds.and(wanted).is_none() {
            return self.refuse(at, format!("{what} must be {wanted}, and is {}", typed.kinds));
        }
        Ok(typed)
    }

    fn demanded(&mut self, expression: &IdedExpr, wanted: Kinds, what: &str) -> Outcome<Node> {
        let typed = self.expression(expression)?;
        self.demand(typed, wanted, expression, what).map(|typed| typed.node)
    }

    fn call(&mut self, at: &IdedExpr, call: &CallExpr) -> Outcome<Typed> {
        let name = call.func_name.as_str();
        match (&call.target, call.args.as_slice()) {
            (None, [left, right]) => match name {
                signs::LOGICAL_AND => self.condition(Node::And, left, right),
                signs::LOGICAL_OR => self.condition(Node::Or, left, right),
                signs::INDEX => self.index(left, right),
                signs::IN => self.is_in(left, right),
                _ if Operator::named(name).is_some() => self.binary(at, name, left, right),
                _ => self.function(at, call),
            },
            (None, [condition, then, otherwise]) if name == signs::CONDITIONAL => {
                self.choice(condition, then, otherwise)
            }
            (None, [of]) if name == signs::LOGICAL_NOT => {
                let node = self.demanded(of, Kinds::BOOLEAN, "what `!` turns round")?;
                Ok(Typed::new(Node::Not(Box::new(node)), Kinds::BOOLEAN))
            }
            (None, [of]) if name == signs::NEGATE => {
                let negated = Kinds::NUMBER.or(Kinds::DURATION);
                let typed = self.expression(of)?;
                let typed = self.demand(typed, negated, of, "what `-` negates")?;
                Ok(Typed::new(Node::Negate(Box::new(typed.node)), typed.kinds.and(negated)))
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

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

fn constant_of(constant: Constant) -> Typed {
    let kinds = Kinds::of(constant.value().kind());
    Typed::new(Node::Constant(constant), kinds)
}
