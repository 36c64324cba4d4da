//! From source to what is evaluated: the grammar is the parser's, names, arguments and kinds are
//! checked here.

use cel::Env;
use cel::common::ast::{
    CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, SourceInfo, operators as signs,
};
use domain::nearest;

use super::evaluate::{Evaluation, described};
use super::functions::{self, FUNCTIONS, Function, Style};
use super::kinds::{Kind, Kinds};
use super::meter::{Budget, Meter};
use super::node::{Constant, Loop, Macro, Member, Node, Variable};
use super::operators::Operator;
use super::pattern::Pattern;
use super::{EvaluationFault, ExpressionFault, Shape, shorten};

/// Most bytes of a source.
const MOST_SOURCE: usize = 16 << 10;
/// Most levels of an expression.
const MOST_LEVELS: usize = 64;
/// The stack for reading a source. The parser recurses for each term of a sum, of which there may
/// be as many as fit the source.
const STACK: usize = 256 << 20;

type Outcome<T> = Result<T, ExpressionFault>;

/// A part that was compiled, and what is known of its value.
struct Typed {
    node: Node,
    kinds: Kinds,
    /// Of a list its elements, of a map its keys.
    elements: Kinds,
}

impl Typed {
    const fn new(node: Node, kinds: Kinds) -> Self {
        Self { node, kinds, elements: Kinds::ANY }
    }
}

/// What an expression turned out to be.
#[derive(Debug)]
pub(super) struct Compiled {
    pub root: Node,
    /// What its value may be.
    #[cfg(test)]
    pub kinds: Kinds,
    pub members_read: Vec<Box<str>>,
    pub uses_lookups: bool,
}

/// Reads and checks a source whose value is to be of these kinds.
pub(super) fn compile(
    source: &str,
    wanted: Kinds,
    lookups: &[(String, Shape)],
) -> Outcome<Compiled> {
    if source.len() > MOST_SOURCE {
        return Err(fault(
            MOST_SOURCE,
            format!("an expression has at most {MOST_SOURCE} bytes, and this one {}", source.len()),
        ));
    }
    let on_its_own_stack = || {
        let (root, places) = parse(source)?;
        let mut compiler = Compiler {
            places: &places,
            lookups,
            locals: Vec::new(),
            level: 0,
            members_read: Vec::new(),
            uses_lookups: false,
        };
        let typed = compiler.expression(&root);
        let typed = typed.and_then(|typed| compiler.demand(typed, wanted, &root, "the expression"));
        let typed = typed?;
        Ok(Compiled {
            root: typed.node,
            #[cfg(test)]
            kinds: typed.kinds,
            members_read: compiler.members_read,
            uses_lookups: compiler.uses_lookups,
        })
    };
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, on_its_own_stack);
        let thread = thread.map_err(|error| {
            fault(0, format!("there is no thread to read the expression on: {error}"))
        })?;
        // The parser is a generated one: should it panic, that is a fault of this source only.
        thread.join().unwrap_or_else(|_| Err(fault(0, "the expression cannot be read".to_owned())))
    })
}

fn parse(source: &str) -> Outcome<(IdedExpr, SourceInfo)> {
    // Without macros: `has`, `all` and so on stay the calls they are written as.
    let parser = Env::default().with_optional_support(false).parser().error_recovery_limit(1);
    parser.parse_with_source_info(source).map_err(|faults| {
        let first = faults.errors.first();
        let (line, column) = first.map_or((1, 0), |first| first.pos);
        let message = first.map_or("", |first| first.msg.as_str());
        fault(offset_of(source, line, column), syntax_reason(message))
    })
}

/// The offset of a line and a column in characters, both from 1.
fn offset_of(source: &str, line: isize, column: isize) -> usize {
    let (line, column) =
        (usize::try_from(line - 1).unwrap_or(0), usize::try_from(column).unwrap_or(0));
    let before: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = source.get(before..).unwrap_or_default();
    before + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

/// The parser's reason, without the list of all that could have stood there.
fn syntax_reason(message: &str) -> String {
    let message = message.trim_start_matches("Syntax error: ");
    if message.starts_with("OtherError") {
        return "this is no CEL: it cannot be read, perhaps because it is nested too deeply"
            .to_owned();
    }
    // What follows is a list of all that could have stood there, or how the parser sees its own
    // fault.
    let message = message
        .split(" expecting ")
        .next()
        .unwrap_or_default()
        .split(" {")
        .next()
        .unwrap_or_default();
    let message = message.replace("'<EOF>'", "the end");
    format!("this is no CEL: {}", shorten(&message))
}

fn fault(offset: usize, reason: String) -> ExpressionFault {
    ExpressionFault { offset, reason }
}

struct Compiler<'s> {
    places: &'s SourceInfo,
    lookups: &'s [(String, Shape)],
    /// The variables of the loops around, and the kinds of what they stand for.
    locals: Vec<(String, Kinds)>,
    level: usize,
    members_read: Vec<Box<str>>,
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
            Expr::Select(select) => self.select(select).map(Self::member),
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
        Err(fault(self.offset(at), reason))
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

    fn literal(&self, at: &IdedExpr, literal: &LiteralValue) -> Outcome<Typed> {
        let constant = match literal {
            LiteralValue::Boolean(boolean) => Constant::Boolean(*boolean.inner()),
            LiteralValue::Double(double) => Constant::Double(*double.inner()),
            LiteralValue::Int(integer) => Constant::Integer(*integer.inner()),
            LiteralValue::Null => Constant::Null,
            LiteralValue::String(text) => Constant::Text(text.inner().into()),
            LiteralValue::UInt(_) => {
                return self.refuse(
                    at,
                    "there are no unsigned numbers here; write it without `u`".to_owned(),
                );
            }
            LiteralValue::Bytes(_) => {
                return self
                    .refuse(at, "there are no bytes here; write a text without `b`".to_owned());
            }
        };
        Ok(constant_of(constant))
    }

    fn variable(&mut self, at: &IdedExpr, name: &str) -> Outcome<Typed> {
        if let Some(place) = self.locals.iter().rposition(|(local, _)| local == name) {
            return Ok(Typed::new(Node::Local(place), self.locals[place].1));
        }
        if let Some(place) = self.lookups.iter().position(|(lookup, _)| lookup == name) {
            self.uses_lookups = true;
            let kinds = if self.lookups[place].1 == Shape::One {
                Kinds::MAP.or(Kinds::NULL)
            } else {
                Kinds::LIST
            };
            let elements =
                if self.lookups[place].1 == Shape::One { Kinds::TEXT } else { Kinds::MAP };
            return Ok(Typed { node: Node::Variable(Variable::Lookup(place)), kinds, elements });
        }
        if let Some((_, variable, kinds)) = VARIABLES.iter().find(|(known, ..)| *known == name) {
            return Ok(Typed {
                node: Node::Variable(*variable),
                kinds: *kinds,
                elements: Kinds::TEXT,
            });
        }
        if let Some(kind) = Kind::of_type(name) {
            return Ok(constant_of(Constant::Type(kind)));
        }
        let known = VARIABLES
            .iter()
            .map(|(name, ..)| *name)
            .chain(self.lookups.iter().map(|(name, _)| name.as_str()));
        let known: Vec<_> =
            known.chain(self.locals.iter().map(|(name, _)| name.as_str())).collect();
        let hint = nearest(name, known.iter().copied())
            .map_or_else(|| format!("known are {}", known.join(", ")), did_you_mean);
        self.refuse(at, format!("there is no variable `{}`; {hint}", shorten(name)))
    }

    fn select(&mut self, select: &SelectExpr) -> Outcome<Member> {
        let of = self.expression(&select.operand)?;
        let of = self.demand(of, Kinds::MAP, &select.operand, "what has members")?;
        self.member_of(of.node, &select.field, &select.operand)
    }

    fn member_of(&mut self, of: Node, name: &str, at: &IdedExpr) -> Outcome<Member> {
        if matches!(of, Node::Variable(Variable::Caller)) && name != "id" {
            return self.refuse(
                at,
                format!("`caller` has an `id` and nothing else, no `{}`", shorten(name)),
            );
        }
        if matches!(of, Node::Variable(Variable::After))
            && name != "id"
            && !self.members_read.iter().any(|read| **read == *name)
        {
            self.members_read.push(name.into());
        }
        let quoted = domain::json::encode_text(name);
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let root = match &of {
            Node::Variable(Variable::Lookup(place)) => Some(self.lookups[*place].0.as_str()),
            Node::Local(place) => Some(self.locals[*place].0.as_str()),
            of => described(of),
        };
        let path = root.filter(|_| is_word).map(|root| shorten(&format!("{root}.{name}")).into());
        Ok(Member { of, name: name.into(), encoded: quoted[1..quoted.len() - 1].into(), path })
    }

    fn member(member: Member) -> Typed {
        let is_id = &*member.name == "id";
        let kinds = match member.of {
            Node::Variable(Variable::After | Variable::Before) if is_id => Kinds::TEXT,
            Node::Variable(Variable::Caller) => Kinds::TEXT.or(Kinds::NULL),
            // A map that was written out may hold anything.
            Node::Variable(_) => Kinds::JSON,
            _ => Kinds::ANY,
        };
        Typed::new(Node::Member(Box::new(member)), kinds)
    }

    fn list(&mut self, elements: &[IdedExpr]) -> Outcome<Typed> {
        let elements: Vec<_> =
            elements.iter().map(|element| self.expression(element)).collect::<Result<_, _>>()?;
        let kinds = elements.iter().fold(Kinds::NONE, |all, element| all.or(element.kinds));
        let nodes = elements.into_iter().map(|element| element.node).collect();
        Ok(Typed {
            node: Node::List(nodes),
            kinds: Kinds::LIST,
            elements: if kinds.is_none() { Kinds::ANY } else { kinds },
        })
    }

    fn map<'e>(&mut self, entries: impl Iterator<Item = &'e EntryExpr>) -> Outcome<Typed> {
        let mut nodes = Vec::new();
        for entry in entries {
            let EntryExpr::MapEntry(entry) = entry else { continue };
            let keys = Kinds::TEXT.or(Kinds::INTEGER).or(Kinds::BOOLEAN);
            nodes.push([
                self.demanded(&entry.key, keys, "the key of a map")?,
                self.expression(&entry.value)?.node,
            ]);
        }
        Ok(Typed::new(Node::Map(nodes.into()), Kinds::MAP))
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

    fn condition(
        &mut self,
        make: impl Fn(Box<[Node; 2]>) -> Node,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Outcome<Typed> {
        let sides = [left, right].map(|side| self.demanded(side, Kinds::BOOLEAN, "a condition"));
        let [left, right] = sides;
        Ok(Typed::new(make(Box::new([left?, right?])), Kinds::BOOLEAN))
    }

    fn choice(
        &mut self,
        condition: &IdedExpr,
        then: &IdedExpr,
        otherwise: &IdedExpr,
    ) -> Outcome<Typed> {
        let condition = self.demanded(condition, Kinds::BOOLEAN, "the condition before `?`")?;
        let (then, otherwise) = (self.expression(then)?, self.expression(otherwise)?);
        let (kinds, elements) =
            (then.kinds.or(otherwise.kinds), then.elements.or(otherwise.elements));
        Ok(Typed {
            node: Node::Choice(Box::new([condition, then.node, otherwise.node])),
            kinds,
            elements,
        })
    }

    fn index(&mut self, of: &IdedExpr, key: &IdedExpr) -> Outcome<Typed> {
        let holder = self.expression(of)?;
        let holder = self.demand(holder, Kinds::LIST.or(Kinds::MAP), of, "what is indexed")?;
        if let Expr::Literal(LiteralValue::String(name)) = &key.expr
            && holder.kinds.and(Kinds::LIST).is_none()
        {
            return self.member_of(holder.node, name.inner(), of).map(Self::member);
        }
        let key =
            self.demanded(key, Kinds::INTEGER.or(Kinds::TEXT).or(Kinds::BOOLEAN), "an index")?;
        Ok(Typed::new(Node::Index(Box::new([holder.node, key])), Kinds::ANY))
    }

    fn is_in(&mut self, wanted: &IdedExpr, holder: &IdedExpr) -> Outcome<Typed> {
        let wanted_part = self.expression(wanted)?;
        let holder_part = self.expression(holder)?;
        let holder_part =
            self.demand(holder_part, Kinds::LIST.or(Kinds::MAP), holder, "what follows `in`")?;
        if holder_part.kinds == Kinds::LIST && !wanted_part.kinds.may_equal(holder_part.elements) {
            let reason =
                format!("{} is never in a list of {}", wanted_part.kinds, holder_part.elements);
            return self.refuse(wanted, reason);
        }
        let constants =
            if let Node::List(elements) = &holder_part.node { constants(elements) } else { None };
        let node = match constants {
            Some(constants) => Node::Among(Box::new(wanted_part.node), constants),
            None => Node::In(Box::new([wanted_part.node, holder_part.node])),
        };
        Ok(Typed::new(node, Kinds::BOOLEAN))
    }

    fn binary(
        &mut self,
        at: &IdedExpr,
        name: &str,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Outcome<Typed> {
        let Some(operator) = Operator::named(name) else {
            return self.refuse(at, "this operator is not known".to_owned());
        };
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let kinds = operator.results(left.kinds, right.kinds);
        if kinds.is_none() {
            let sign = operator.sign();
            let reason = match operator {
                Operator::Equal | Operator::NotEqual => {
                    format!("{} never equals {}", left.kinds, right.kinds)
                }
                _ => format!("`{sign}` does not take {} and {}", left.kinds, right.kinds),
            };
            return self.refuse(at, reason);
        }
        let elements = left.elements.or(right.elements);
        Ok(Typed {
            node: Node::Binary(operator, Box::new([left.node, right.node])),
            kinds,
            elements,
        })
    }

    fn has(&mut self, of: &IdedExpr) -> Outcome<Typed> {
        let Expr::Select(select) = &of.expr else {
            return self.refuse(
                of,
                "has() takes a member by its name, such as has(self.title)".to_owned(),
            );
        };
        let member = self.select(select)?;
        Ok(Typed::new(Node::Has(Box::new(member)), Kinds::BOOLEAN))
    }

    /// `range.all(variable, body)` and its like; `map` may have a condition between the two.
    fn repeat(
        &mut self,
        at: &IdedExpr,
        name: &str,
        range: &IdedExpr,
        variable: &IdedExpr,
        rest: &[IdedExpr],
    ) -> Outcome<Typed> {
        let macro_ = Macro::named(name).unwrap_or(Macro::All);
        let (filter, body) =
            match rest {
                [body] => (None, body),
                [filter, body] if macro_ == Macro::Map => (Some(filter), body),
                _ => return self.refuse(
                    at,
                    format!(
                        "{name}() takes a variable and an expression, such as x.{name}(e, e > 0)"
                    ),
                ),
            };
        let Expr::Ident(variable_name) = &variable.expr else {
            return self.refuse(
                variable,
                format!("the first argument of {name}() is a name for the element"),
            );
        };
        let range_part = self.expression(range)?;
        let range_part = self.demand(
            range_part,
            Kinds::LIST.or(Kinds::MAP),
            range,
            &format!("what {name}() goes through"),
        )?;
        let kinds = if range_part.kinds.and(Kinds::MAP).is_none() {
            range_part.elements
        } else {
            Kinds::ANY
        };
        let local = self.locals.len();
        self.locals.push((variable_name.clone(), kinds));
        let parts = self.loop_parts(macro_, name, filter, body);
        self.locals.truncate(local);
        let (filter, body) = parts?;
        let (kinds, elements) = match macro_ {
            Macro::Map => (Kinds::LIST, body.kinds),
            Macro::Filter => (Kinds::LIST, kinds),
            _ => (Kinds::BOOLEAN, Kinds::ANY),
        };
        let node = Node::Loop(Box::new(Loop {
            macro_,
            range: range_part.node,
            local,
            filter,
            body: body.node,
        }));
        Ok(Typed { node, kinds, elements })
    }

    fn loop_parts(
        &mut self,
        macro_: Macro,
        name: &str,
        filter: Option<&IdedExpr>,
        body: &IdedExpr,
    ) -> Outcome<(Option<Node>, Typed)> {
        let condition = format!("the condition of {name}()");
        let filter =
            filter.map(|filter| self.demanded(filter, Kinds::BOOLEAN, &condition)).transpose()?;
        let typed = self.expression(body)?;
        let wanted = if macro_ == Macro::Map { Kinds::ANY } else { Kinds::BOOLEAN };
        Ok((filter, self.demand(typed, wanted, body, &condition)?))
    }

    fn function(&mut self, at: &IdedExpr, call: &CallExpr) -> Outcome<Typed> {
        let name = call.func_name.as_str();
        let arguments: Vec<&IdedExpr> =
            call.target.as_deref().into_iter().chain(&call.args).collect();
        if name == "matches" {
            return self.matches(at, &arguments);
        }
        let Some(function) = functions::named(name) else { return self.unknown_function(at, call) };
        let is_method = call.target.is_some();
        let is_styled =
            function.style == Style::Both || (function.style == Style::Method) == is_method;
        if !is_styled || arguments.len() != function.parameters.len() {
            return self
                .refuse(at, format!("{name}() is not called so; write {}", usage(function)));
        }
        let mut nodes = Vec::with_capacity(arguments.len());
        for (argument, parameter) in arguments.into_iter().zip(function.parameters) {
            nodes.push(self.demanded(argument, *parameter, &format!("what {name}() takes"))?);
        }
        self.fold(at, function, nodes)
    }

    /// A call whose arguments are known now is made now.
    fn fold(&self, at: &IdedExpr, function: &'static Function, nodes: Vec<Node>) -> Outcome<Typed> {
        if !nodes.is_empty() && nodes.iter().all(|node| matches!(node, Node::Constant(_))) {
            let meter = Meter::of(Budget::Verdict);
            let constant = Evaluation::without_scope(&meter)
                .call(function, &nodes)
                .map(|value| Constant::of(&value));
            match constant {
                Ok(Some(constant)) => return Ok(constant_of(constant)),
                Err(EvaluationFault::Failed(reason)) => return self.refuse(at, reason),
                _ => {}
            }
        }
        Ok(Typed::new(Node::Call(function, nodes.into()), function.result))
    }

    fn matches(&mut self, at: &IdedExpr, arguments: &[&IdedExpr]) -> Outcome<Typed> {
        let [text, pattern] = arguments else {
            return self.refuse(
                at,
                "matches() is not called so; write text.matches('pattern')".to_owned(),
            );
        };
        let Expr::Literal(LiteralValue::String(source)) = &pattern.expr else {
            return self.refuse(
                pattern,
                "the regular expression of matches() is a text in quotes; it cannot be computed"
                    .to_owned(),
            );
        };
        let text = self.demanded(text, Kinds::TEXT, "what matches() looks at")?;
        let pattern =
            Pattern::new(source.inner()).or_else(|reason| self.refuse(pattern, reason))?;
        Ok(Typed::new(Node::Matches(Box::new(text), pattern), Kinds::BOOLEAN))
    }

    fn unknown_function<T>(&self, at: &IdedExpr, call: &CallExpr) -> Outcome<T> {
        let name = call.func_name.as_str();
        if Macro::named(name).is_some() {
            return self.refuse(
                at,
                format!(
                    "{name}() is not called so; write x.{name}(e, …) with a name for the element"
                ),
            );
        }
        if name == signs::HAS {
            return self.refuse(at, "has() is not called so; write has(self.title)".to_owned());
        }
        let macros = ["has", "all", "exists", "exists_one", "map", "filter", "matches"];
        let known = FUNCTIONS.iter().map(|function| function.name).chain(macros);
        let hint = nearest(name, known.clone()).map_or_else(
            || format!("known are {}", known.collect::<Vec<_>>().join(", ")),
            did_you_mean,
        );
        self.refuse(at, format!("there is no function {}(); {hint}", shorten(name)))
    }
}

/// The variables that are always there, and the kinds of what they stand for.
const VARIABLES: &[(&str, Variable, Kinds)] = &[
    ("self", Variable::After, Kinds::MAP),
    ("old", Variable::Before, Kinds::MAP.or(Kinds::NULL)),
    ("caller", Variable::Caller, Kinds::MAP),
    ("now", Variable::Now, Kinds::TIMESTAMP),
    ("today", Variable::Today, Kinds::TEXT),
    ("parent", Variable::Parent, Kinds::TEXT.or(Kinds::NULL)),
];

/// Whether a name stands for something in every expression, so that no lookup may have it.
pub(super) fn is_taken(name: &str) -> bool {
    VARIABLES.iter().any(|(known, ..)| *known == name)
        || Kind::type_names().any(|known| known == name)
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

fn constant_of(constant: Constant) -> Typed {
    let kinds = Kinds::of(constant.value().kind());
    Typed::new(Node::Constant(constant), kinds)
}

fn constants(nodes: &[Node]) -> Option<Box<[Constant]>> {
    nodes
        .iter()
        .map(|node| if let Node::Constant(constant) = node { Some(constant.clone()) } else { None })
        .collect()
}

/// How a function is called.
fn usage(function: &Function) -> String {
    let parameters: Vec<_> = function.parameters.iter().map(ToString::to_string).collect();
    let name = function.name;
    match (function.style, parameters.split_first()) {
        (Style::Method, Some((target, rest))) => {
            format!("x.{name}({}), where x is {target}", rest.join(", "))
        }
        _ => format!("{name}({})", parameters.join(", ")),
    }
}
