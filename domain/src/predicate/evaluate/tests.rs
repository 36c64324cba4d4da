use std::collections::HashMap;

use jiff::Timestamp;

use crate::predicate::{
    Comparison, Double, ItemState, Judged, Literal, Lookups, Operand, Predicate, Related,
    RelatedKey, RelatedValue, Subject, Test, ValueKind,
};
use crate::{Collection, Found, Item, ItemId, Lookup, LookupKey, Version};

const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
const STATUS: Collection = Collection::known("status");

#[derive(Default)]
struct Known(HashMap<Lookup, Found>);

impl Lookups for Known {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        self.0.get(&lookup)
    }
}

fn item(members: &str) -> Item {
    Item {
        id: ItemId::parse(PROPOSAL).unwrap(),
        version: Version::FIRST,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: members.into(),
        parent: None,
        continues: None,
        created_by: Some("a:1".into()),
    }
}

fn holds(predicate: &Predicate, members: &str) -> bool {
    predicate.judge(Judged::of(&item(members)), &mut Known::default()).unwrap()
}

fn number(value: f64) -> Literal {
    Literal::Number(Double::new(value).unwrap())
}

fn test(name: &str, test: Test) -> Predicate {
    Predicate::Test(Operand::member(name), test)
}

#[test]
fn tests_hold_of_values_of_their_kind_only() {
    let compare = |comparison, literal| test("a", Test::Compare(comparison, literal));
    for (predicate, members, expected) in [
        (test("a", Test::Exists), r#"{"a":null}"#, true),
        (test("a", Test::Exists), r#"{"b":1}"#, false),
        (test("a", Test::Is(ValueKind::List)), r#"{"a":[]}"#, true),
        (compare(Comparison::Equal, number(1.0)), r#"{"a":1.0}"#, true),
        (compare(Comparison::Equal, number(0.0)), r#"{"a":-0}"#, true),
        (compare(Comparison::Equal, number(1.0)), r#"{"a":"1"}"#, false),
        (compare(Comparison::Less, number(10.0)), r#"{"a":9}"#, true),
        (compare(Comparison::Less, number(10.0)), r#"{"a":1e999}"#, false),
        (compare(Comparison::AtMost, Literal::String("b".into())), r#"{"a":"b"}"#, true),
        (compare(Comparison::Less, Literal::String("b".into())), r#"{"a":1}"#, false),
        (compare(Comparison::Equal, Literal::Null), r#"{"a":null}"#, true),
        (compare(Comparison::Equal, Literal::Null), "{}", false),
        (compare(Comparison::Equal, Literal::Boolean(true)), r#"{"a":true}"#, true),
        (test("a", Test::StartsWith("r\"".into())), r#"{"a":"r\"x"}"#, true),
        (test("a", Test::Includes(Literal::String("x".into()))), r#"{"a":["y","x"]}"#, true),
        (test("a", Test::Includes(Literal::String("x".into()))), r#"{"a":{"x":1}}"#, true),
        (test("a", Test::Includes(Literal::String("x".into()))), r#"{"a":"x"}"#, false),
    ] {
        assert_eq!(holds(&predicate, members), expected, "{predicate:?} of {members}");
    }
    let nested = Operand::current(Subject::Member(["a".into(), "b c".into()].into()));
    let nested = Predicate::Test(nested, Test::Exists);
    assert!(holds(&nested, r#"{"a":{"b c":0}}"#));
    assert!(!holds(&nested, r#"{"a":["b c"]}"#));
    let creator = Operand::current(Subject::CreatedBy);
    assert!(holds(&Predicate::equals(creator, Literal::String("a:1".into())), "{}"));
}

#[test]
fn a_write_is_compared_with_the_old_item() {
    let same = |subject: Subject| {
        let old = Operand { state: ItemState::Old, subject: subject.clone() };
        Predicate::Equal(Operand::current(subject), old)
    };
    let same_time = same(Subject::CreatedAt);
    for (time, expected) in [(Timestamp::UNIX_EPOCH, true), (Timestamp::MAX, false)] {
        let (before, after) = (item("{}"), Item { created_at: time, ..item("{}") });
        let judged = Judged { current: &after, old: Some(&before) };
        assert_eq!(same_time.judge(judged, &mut Known::default()), Some(expected));
    }
    let same = same(Operand::member("a").subject);
    for (before, after, expected) in [
        (r#"{"a":[1,{"x":2,"y":"z"}]}"#, r#"{"a":[1.0,{"y":"z","x":2}]}"#, true),
        (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, false),
        (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, false),
        (r#"{"a":{"x":1}}"#, r#"{"a":{"x":1,"y":2}}"#, false),
        (r#"{"a":{"x":1}}"#, r#"{"a":{"x":2}}"#, false),
        (r#"{"a":{"x":1}}"#, r#"{"a":{"y":1}}"#, false),
        ("{}", "{}", false),
        (r#"{"a":"x"}"#, r#"{"a":"y"}"#, false),
    ] {
        let (before, after) = (item(before), item(after));
        let judged = Judged { current: &after, old: Some(&before) };
        assert_eq!(same.judge(judged, &mut Known::default()), Some(expected));
    }
}

fn steps(latest: Option<Predicate>, holds: Predicate) -> Predicate {
    Predicate::related(Related {
        collection: STATUS,
        key: RelatedKey::Member("subject".into()),
        value: RelatedValue::Operand(Operand::current(Subject::Id)),
        latest,
        holds,
    })
}

fn lookup() -> Lookup {
    let key = LookupKey::Member { name: "subject".into(), value: PROPOSAL.into() };
    Lookup { collection: STATUS, key, without: ItemId::parse(PROPOSAL).unwrap() }
}

#[test]
fn related_items_count_all_or_the_newest() {
    let approved =
        Predicate::equals(Operand::member("to_code"), Literal::String("approved".into()));
    let has_code = test("to_code", Test::Exists);
    let found = [r#"{"to_code":"approved"}"#, r#"{"to_code":"closed"}"#, "{}"].map(item);
    let mut known = Known::default();
    let judge =
        |predicate: &Predicate, known: &mut Known| predicate.judge(Judged::of(&item("{}")), known);
    let any = steps(None, approved.clone());
    assert_eq!(judge(&any, &mut known), None, "the lookup is not known");
    assert_eq!(judge(&Predicate::FALSE.and(any.clone()), &mut known), Some(false));
    known.0.insert(lookup(), Found::Items(found.to_vec()));
    assert_eq!(judge(&any, &mut known), Some(true));
    let newest = steps(Some(has_code), approved);
    assert_eq!(judge(&newest, &mut known), Some(false));
    known.0.insert(lookup(), Found::Items(found[..1].to_vec()));
    assert_eq!(judge(&newest, &mut known), Some(true));
    known.0.insert(lookup(), Found::Items(Vec::new()));
    assert_eq!(judge(&newest, &mut known), Some(false));
    known.0.insert(lookup(), Found::TooMany);
    assert_eq!(judge(&any, &mut known), None);
    assert_eq!(judge(&any.negated(), &mut known), None, "neither does the opposite hold");
    assert_eq!(newest.reads(), [STATUS]);
}

#[test]
fn a_condition_on_the_old_item_does_not_depend_on_the_new_one() {
    let is_about = Predicate::related(Related {
        collection: STATUS,
        key: RelatedKey::Member("subject".into()),
        value: RelatedValue::Operand(Operand::member("a")),
        latest: None,
        holds: Predicate::TRUE,
    });
    let (old, new) = (item(r#"{"a":"one","b":1}"#), item(r#"{"a":"two"}"#));
    let mut known = Known::default();
    for (value, items) in [("one", vec![item("{}")]), ("two", Vec::new())] {
        let key = LookupKey::Member { name: "subject".into(), value: value.into() };
        known.0.insert(Lookup { key, ..lookup() }, Found::Items(items));
    }
    let judged = Judged { current: &new, old: Some(&old) };
    let one = Predicate::equals(Operand::member("a"), Literal::String("one".into()));
    for predicate in [is_about, one, test("b", Test::Exists)] {
        assert_eq!(predicate.judge(judged, &mut known), Some(false), "{predicate:?}");
        assert_eq!(predicate.of_old().judge(judged, &mut known), Some(true), "{predicate:?}");
    }
}
