//! Random conditions on random items: the predicates agree with the evaluator.

use domain::predicate::Judged;
use domain::{Item, Members, WriteContext};

use super::lookups;
use super::world::{Random, World, context, item, members, scope};
use crate::expression::predicate::Condition;
use crate::expression::{CostLimit, EvaluationError, LookupTarget, Meter, Variables};

const OWN: [&str; 25] = [
    "program.meta.created_by",
    "self.meta",
    "meta.created_at",
    "self.a",
    "self.b",
    "self.b.c",
    r#"self["b"]["c"]"#,
    "self.flag",
    "self.tags",
    "self.id",
    "self.parent",
    r#"self["m n"]"#,
    "parent",
    "meta.created_by",
    "old.a",
    "old.b.c",
    "old.flag",
    "old.id",
    "program.a",
    "program.b.c",
    "program.id",
    "program.parent",
    "owner.flag",
    "owner.tags",
    "latest(libs).a",
];
const ELEMENT: [&str; 10] = [
    "x.meta.created_by",
    "x.meta.created_at",
    "x.a",
    "x.b",
    "x.b.c",
    "x.flag",
    "x.tags",
    "x.id",
    "x.parent",
    r#"x["m n"]"#,
];
const CONSTANTS: [&str; 22] = [
    "dyn(\"x\")",
    r#"timestamp("2024-01-01T00:00:00Z")"#,
    r#""x""#,
    r#""xy""#,
    r#""""#,
    r#""é\"q\\""#,
    r#""\u0000""#,
    "1",
    "0",
    "1.5",
    "-3",
    "1e300",
    "null",
    "true",
    "false",
    "caller.id",
    "caller.agency",
    "caller.level",
    "caller.missing",
    "today",
    "(\"author\" in caller.roles ? \"x\" : 1)",
    "\"019a9a9a-0000-7000-8000-000000000001\"",
];
const MANY: [&str; 7] = ["libs", "seats", "same", "mine", "level", "steps", "far"];

/// Writes conditions. Within a loop over a lookup, only its element `x` is used.
struct Writer {
    random: Random,
    is_in_element: bool,
}

impl Writer {
    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.is_one_of(4) {
            return self.atom();
        }
        let next = depth - 1;
        match self.random.below(if self.is_in_element { 6 } else { 9 }) {
            0 => format!("!({})", self.condition(next)),
            1 | 2 => format!("({}) && ({})", self.condition(next), self.condition(next)),
            3 | 4 => format!("({}) || ({})", self.condition(next), self.condition(next)),
            5 => {
                let (condition, then) = (self.condition(next), self.condition(next));
                format!("({condition}) ? ({then}) : ({})", self.condition(next))
            }
            6 => {
                let range = self.random.pick(&["caller.agencies", "caller.roles", r#"["x", 1]"#]);
                let loops = self.random.pick(&["exists", "all"]);
                let (part, operand) = (self.condition(0), self.operand());
                let test =
                    self.random.pick(&["g == O", "O != g", "O.startsWith(g)", "g in O", "O > g"]);
                format!("{range}.{loops}(g, {} || {part})", test.replace('O', operand))
            }
            _ => self.lookup(depth),
        }
    }

    fn items(&mut self) -> String {
        let lookup = self.random.pick(&MANY);
        match self.random.below(4) {
            0 => format!("{lookup}.filter(x, {})", self.element()),
            1 => format!("{lookup}.filter(x, {}).filter(x, {})", self.element(), self.element()),
            _ => lookup.to_owned(),
        }
    }

    fn element(&mut self) -> String {
        self.is_in_element = true;
        let condition = self.condition(1);
        self.is_in_element = false;
        condition
    }

    fn lookup(&mut self, depth: usize) -> String {
        let items = self.items();
        match self.random.below(6) {
            0 | 1 => format!("{items}.exists(x, {})", self.element()),
            2 => format!("{items}.all(x, {})", self.element()),
            3 => format!(
                "size({items}) {}",
                self.random.pick(&["== 0", "!= 0", "> 0", ">= 1", "< 1"])
            ),
            4 => {
                let of = [format!("latest({items})"), "program".to_owned(), "owner".to_owned()];
                let of = &of[self.random.below(3)];
                format!("{of} {} null", self.random.pick(&["==", "!="]))
            }
            _ => {
                let name = self.random.pick(&ELEMENT);
                let test = self.test(&name.replacen('x', &format!("latest({items})"), 1));
                if depth > 1 { format!("{test} && {}", self.condition(depth - 2)) } else { test }
            }
        }
    }

    fn operand(&mut self) -> &'static str {
        if self.is_in_element { self.random.pick(&ELEMENT) } else { self.random.pick(&OWN) }
    }

    fn atom(&mut self) -> String {
        if self.random.is_one_of(12) {
            return self
                .random
                .pick(&[
                    "true",
                    "caller.flag",
                    r#""author" in caller.roles"#,
                    "caller.level > 1",
                    "has(caller.id)",
                    r#"caller.roles.exists(r, r == "author")"#,
                ])
                .to_owned();
        }
        if !self.is_in_element && self.random.is_one_of(10) {
            let sign = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
            return format!("meta.created_at {sign} timestamp(\"2024-01-01T00:00:00Z\")");
        }
        if self.random.is_one_of(12) {
            let sign = self.random.pick(&["==", "!="]);
            return format!("{} {sign} {}", self.operand(), self.operand());
        }
        let operand = self.operand();
        self.test(operand)
    }

    fn test(&mut self, operand: &str) -> String {
        let [one, other, third] = [0; 3].map(|_| self.random.pick(&CONSTANTS));
        let sign = self.random.pick(&["==", "==", "!=", "<", "<=", ">", ">="]);
        match self.random.below(12) {
            0..=2 => format!("{operand} {sign} {one}"),
            3 => format!("{one} {sign} {operand}"),
            4 => format!("{operand} in [{one}, {other}, {third}]"),
            5 => format!("{operand} in caller.agencies"),
            6 => format!(r#"{operand} in {{"x": 1, "xy": 2, 1: 3}}"#),
            7 => format!("{one} in {operand}"),
            8 | 9 if !operand.ends_with(']') && operand != "parent" => format!("has({operand})"),
            10 => format!("{operand}.startsWith({one})"),
            _ => operand.to_owned(),
        }
    }
}

struct Sample {
    item: Item,
    members: [Members; 2],
    old: Option<Item>,
}

fn sample(random: &mut Random) -> Sample {
    let (item, [mut after, mut before]) = (item(random), [members(random), members(random)]);
    if random.is_one_of(4) {
        before = after.clone();
    }
    std::mem::swap(&mut after, &mut before);
    let old = Item { members: before.clone().into_encoded(), ..item.clone() };
    let item = Item { members: after.clone().into_encoded(), ..item };
    Sample { item, members: [after, before], old: (!random.is_one_of(3)).then_some(old) }
}

#[test]
fn predicates_agree_with_the_evaluator() {
    let lookups = lookups();
    let names = LookupTarget::variables(&lookups);
    let mut writer = Writer { random: Random(1), is_in_element: false };
    let (mut pairs, mut counts) = (0, [0; 3]);
    while pairs < 40_000 {
        let source = writer.condition(3);
        let condition = Condition::compile(&source, Variables::OF_A_CHANGE, lookups.clone());
        let Ok(condition) = condition else { continue };
        let random = &mut writer.random;
        let (context, mut world) = (context(random), World::new(random));
        let outcomes = condition.outcomes(&context);
        for _ in 0..20 {
            let Sample { item, members, old } = sample(random);
            let context = WriteContext { id: item.id, parent: item.parent, ..context.clone() };
            let judged = Judged { current: &item, old: old.as_ref() };
            let scope = scope(judged, &members, &context, &names);
            let found = world.found(&lookups, &scope);
            let meter = Meter::of(CostLimit::Verdict);
            let scope = super::super::Scope { found: &found, ..scope };
            let expected = condition.expression().boolean(&scope, &meter);
            assert_ne!(expected, Err(EvaluationError::BudgetExhausted));
            let expected_pair = [Ok(true), Ok(false)].map(|result| Some(expected == result));
            let result = [&outcomes.is_true, &outcomes.is_false]
                .map(|predicate| predicate.judge(judged, &mut world));
            assert_eq!(
                result, expected_pair,
                "{source}\n{expected:?}\n{item:?}\n{old:?}\n{:?}\n{found:#?}\n{outcomes:#?}",
                context.caller
            );
            counts[expected.map_or(2, usize::from)] += 1;
            pairs += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > pairs / 10), "{counts:?}");
}
