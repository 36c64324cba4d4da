//! Predicates of conditions, and static facts about them.

use domain::predicate::{
    ItemState, Literal, Operand, Related, RelatedKey, RelatedValue, Subject, Test,
};
use domain::{Collection, Predicate, Principal, WriteContext, WriteOperation};

use super::lookups;
use crate::expression::predicate::{Condition, Outcomes};
use crate::expression::term::Variable;
use crate::expression::{MemberRead, Variables};

fn compile(source: &str) -> Condition {
    Condition::compile(source, Variables::OF_AN_ITEM, lookups()).unwrap()
}

fn context() -> WriteContext {
    let caller = Some(Principal::named("ana").into());
    WriteContext { caller, ..WriteContext::any(WriteOperation::Patch) }
}

fn outcomes(source: &str) -> Outcomes {
    compile(source).outcomes(&context())
}

fn equals(operand: Operand, string: &str) -> Predicate {
    Predicate::equals(operand, Literal::String(string.into()))
}

fn member(path: &[&str]) -> Operand {
    Operand::current(Subject::Member(path.iter().map(|name| (*name).into()).collect()))
}

#[test]
fn parts_without_the_item_are_evaluated() {
    let is_by_ana = equals(Operand::current(Subject::CreatedBy), "ana");
    for (source, expected) in [
        ("meta.created_by == caller.id", is_by_ana.clone()),
        ("caller.id == meta.created_by && today < '2026-01-01'", is_by_ana.clone()),
        ("caller.roles.exists(role, role == 'x') || caller.id == meta.created_by", is_by_ana),
        ("caller.agency == self.agency", Predicate::FALSE),
        ("self.id != ''", equals(Operand::current(Subject::Id), "").negated()),
        (
            "self.a.startsWith('x')",
            Predicate::Test(Operand::member("a"), Test::StartsWith("x".into())),
        ),
        ("self['a b'] == 'x'", equals(Operand::member("a b"), "x")),
        ("self.a['b c'] == 'x'", equals(member(&["a", "b c"]), "x")),
        // Members of the item may have the names of other values.
        ("self.parent == 'x'", equals(Operand::member("parent"), "x")),
        ("self.meta.created_by == 'x'", equals(member(&["meta", "created_by"]), "x")),
        ("self.meta.created_at == 'x'", equals(member(&["meta", "created_at"]), "x")),
        ("self.meta.a == 'x'", equals(member(&["meta", "a"]), "x")),
        ("caller.roles.exists(role, role.a == self.a)", Predicate::FALSE),
        ("[{'a': 'x'}].exists(it, it.a == self.a)", equals(Operand::member("a"), "x")),
    ] {
        assert_eq!(outcomes(source).is_true, expected, "{source}");
    }
}

#[test]
fn an_anonymous_caller_is_no_unknown_creator() {
    let condition = compile("meta.created_by == caller.id");
    let outcomes = condition.outcomes(&WriteContext { caller: None, ..context() });
    assert_eq!(outcomes, Outcomes::UNDECIDED);
}

#[test]
fn lookups_are_relations_without_needless_parts() {
    let step = Operand::member("to_code");
    let has_code = Predicate::Test(step.clone(), Test::Exists);
    let related = |latest, holds| {
        Predicate::related(Related {
            collection: Collection::known("gadscores"),
            key: RelatedKey::Member("subject".into()),
            value: RelatedValue::Operand(Operand::current(Subject::Id)),
            latest,
            holds,
        })
    };
    let is_approved = equals(step, "approved");
    for (source, expected) in [
        ("seats.exists(x, x.to_code == 'approved')", related(None, is_approved.clone())),
        ("!seats.exists(x, has(x.to_code))", related(None, has_code.clone()).negated()),
        (
            "seats.exists(x, x.parent == 'a' || x.meta.created_by == 'a')",
            related(
                None,
                equals(Operand::current(Subject::Parent), "a")
                    .or(equals(Operand::current(Subject::CreatedBy), "a")),
            ),
        ),
        (
            "seats.exists(x, x.meta.created_at == timestamp('1970-01-01T00:00:00Z'))",
            related(
                None,
                Predicate::equals(
                    Operand::current(Subject::CreatedAt),
                    Literal::Time(jiff::Timestamp::UNIX_EPOCH),
                ),
            ),
        ),
        ("size(seats) == 0", related(None, Predicate::TRUE).negated()),
        ("size(seats) != 0", related(None, Predicate::TRUE)),
        ("size(seats) > 0", related(None, Predicate::TRUE)),
        ("size(seats) >= 1", related(None, Predicate::TRUE)),
        ("seats.all(x, has(x.to_code))", related(None, has_code.clone().negated()).negated()),
        (
            "latest(seats.filter(x, has(x.to_code))).to_code == 'approved'",
            related(Some(has_code), is_approved),
        ),
    ] {
        assert_eq!(outcomes(source).is_true, expected, "{source}");
    }
}

#[test]
fn a_change_compares_the_item_with_the_old_one() {
    let state = |state| Operand { state, ..Operand::member("a") };
    let is_same = Predicate::Equal(state(ItemState::Present), state(ItemState::Old));
    let both =
        [ItemState::Present, ItemState::Old].map(|of| Predicate::Test(state(of), Test::Exists));
    let both = Predicate::all(both);
    for (source, expected) in
        [("self.a == old.a", is_same.clone()), ("self.a != old.a", both.and(is_same.negated()))]
    {
        let change = Condition::compile(source, Variables::OF_A_CHANGE, lookups()).unwrap();
        assert_eq!(change.outcomes(&context()).is_true, expected, "{source}");
    }
}

#[test]
fn long_lists_of_the_caller_decide_nothing() {
    let ids = |count: usize| {
        let ids: Vec<_> = (0..count).map(|id| format!("\"{id}\"")).collect();
        let attributes = format!(r#"{{"agencies":[{}]}}"#, ids.join(","));
        let attributes = domain::Members::read(attributes.as_bytes()).unwrap().unwrap();
        let caller = Principal::with("ana".into(), Box::default(), &attributes, (None, None));
        WriteContext { caller: Some(caller.into()), ..context() }
    };
    for source in ["self.a in caller.agencies", "caller.agencies.exists(id, id == self.a)"] {
        let condition = compile(source);
        let predicate = condition.outcomes(&ids(2_000)).is_true;
        assert!(matches!(predicate, Predicate::Any(parts) if parts.len() == 2_000), "{source}");
        assert!(condition.outcomes(&ids(2_002)) == Outcomes::UNDECIDED, "{source}");
    }
}

#[test]
fn loops_within_each_other_end() {
    let attributes = format!(r#"{{"ids":[{}0]}}"#, "\"x\",".repeat(1_000));
    let attributes = domain::Members::read(attributes.as_bytes()).unwrap().unwrap();
    let caller = Principal::with("ana".into(), Box::default(), &attributes, (None, None));
    let context = WriteContext { caller: Some(caller.into()), ..context() };
    let loops = "caller.ids.exists(x, ".repeat(10);
    let source = format!("{loops}self.a == x{}", ")".repeat(10));
    assert_eq!(compile(&source).outcomes(&context), Outcomes::UNDECIDED);
}

#[test]
fn variables_are_used_by_conditions_and_by_the_keys_of_their_lookups() {
    for (source, variable, expected) in [
        ("today < self.a", Variable::Today, true),
        ("self.a == 1", Variable::Today, false),
        ("size(mine) == 0", Variable::Caller, true),
        ("size(libs) == 0", Variable::Caller, false),
        ("size(far) == 0", Variable::Parent, true),
        ("size(steps) == 0", Variable::Parent, false),
    ] {
        assert_eq!(compile(source).uses(variable), expected, "{source}: {variable:?}");
    }
}

#[test]
fn members_that_are_read_include_those_of_the_latest_item() {
    let condition = compile("latest(libs.filter(x, has(x.b))).c == 1 && program.d == 1");
    let reads = condition.expression().reads().into_iter();
    let mut reads: Vec<_> = reads.map(|MemberRead { of, name, .. }| (name, of)).collect();
    reads.sort_by_key(|(name, _)| *name);
    let expected =
        [("b", Variable::Lookup(2)), ("c", Variable::Lookup(2)), ("d", Variable::Lookup(0))];
    assert_eq!(reads, expected);
    assert_eq!(condition.lookups()[2].1.collection, Collection::known("lib"));
}
