use std::sync::Arc;

use jiff::Timestamp;

use super::{Mask, MemberSet, VisibleMembers};
use crate::predicate::{Operand, Related, RelatedKey, RelatedValue, Subject, Test};
use crate::{Collection, Item, ItemId, Members, Pointer, Predicate, Version};

const FILES: Collection = Collection::known("files");

const STORED: &str =
    r#"{"a":1,"b":{"c":2,"d":{"e":3,"f":4}},"g":[{"h":5,"i":6},{"i":7},8],"j":{},"k":9}"#;

fn members(text: &str) -> Members {
    Members::read(text.as_bytes()).unwrap().unwrap()
}

/// Hides these paths, or shows them alone.
fn mask(paths: &[&str], are_shown: bool) -> VisibleMembers {
    let condition = |shown: bool| Predicate::Constant(shown == are_shown);
    let path = |path: &&str| (path.split('/').map(Box::from).collect(), condition(true));
    let others = condition(false);
    let mask = Mask::new(FILES, paths.iter().map(path), others.clone(), others).unwrap();
    let holds = |condition: &Predicate| condition.constant().ok_or(());
    VisibleMembers::decide(&Arc::new(mask), holds).unwrap()
}

#[test]
fn hidden_members_and_what_has_nothing_else_are_absent() {
    for (paths, are_shown, visible) in [
        (&["x"][..], false, STORED),
        (
            &["a", "k"],
            false,
            r#"{"b":{"c":2,"d":{"e":3,"f":4}},"g":[{"h":5,"i":6},{"i":7},8],"j":{}}"#,
        ),
        (
            &["b/d/e", "g/i"],
            false,
            r#"{"a":1,"b":{"c":2,"d":{"f":4}},"g":[{"h":5},8],"j":{},"k":9}"#,
        ),
        (&["b/c", "b/d", "j/x"], false, r#"{"a":1,"g":[{"h":5,"i":6},{"i":7},8],"j":{},"k":9}"#),
        (&["k", "a"], true, r#"{"a":1,"k":9}"#),
        (&["b/d/e", "g/h", "a/x", "j"], true, r#"{"b":{"d":{"e":3}},"g":[{"h":5}],"j":{}}"#),
        (&["x"], true, "{}"),
    ] {
        assert_eq!(&*mask(paths, are_shown).cut(&STORED.into()), visible, "{paths:?}");
    }
}

#[test]
fn a_write_keeps_hidden_members_in_their_places() {
    let hidden = &["a", "b/d/e", "g/i", "k", "x"][..];
    for (new, expected) in [
        (r#"{"b":{"c":2,"d":{"f":4}},"g":[{"h":5},8],"j":{}}"#, Ok(STORED)),
        (
            r#"{"j":{},"n":1,"b":{"d":{"f":0}},"g":[{"h":5},8]}"#,
            Ok(
                r#"{"a":1,"j":{},"k":9,"n":1,"b":{"d":{"e":3,"f":0}},"g":[{"h":5,"i":6},{"i":7},8]}"#,
            ),
        ),
        (
            r#"{"g":[{"h":5},8]}"#,
            Ok(r#"{"a":1,"b":{"d":{"e":3}},"g":[{"h":5,"i":6},{"i":7},8],"k":9}"#),
        ),
        (r#"{"g":[{"h":0},8],"k":9,"b":{"d":{"e":3}},"x":null}"#, Err("/g /k /b/d/e /x")),
        (r#"{"b":"text","g":[{"h":5},8]}"#, Err("/b")),
        ("{}", Err("/g")),
    ] {
        let kept = mask(hidden, false).keep(&members(STORED), members(new));
        let kept = kept.as_ref().map(Members::encoded).map_err(|refused| {
            refused.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(kept, expected.map_err(str::to_owned), "{new}");
    }
    let shown = mask(&["k"], true).keep(&members(STORED), members(r#"{"k":0}"#)).unwrap();
    assert_eq!(shown.encoded(), STORED.replace("\"k\":9", "\"k\":0"));
    let gone = mask(&["b/x"], false).keep(&members(STORED), members(r#"{"a":1}"#)).unwrap();
    assert_eq!(gone.encoded(), r#"{"a":1}"#);
    let none = mask(&[], true).keep(&members(STORED), members("{}")).unwrap();
    assert_eq!(none.encoded(), STORED);
}

#[test]
fn a_change_names_the_members_outside_of_the_mask() {
    let before = members(STORED);
    for (paths, after, changed) in [
        (&["a"][..], STORED.replace("\"a\":1", "\"a\":0"), ""),
        (&["k"], STORED.replace("\"a\":1,", ""), "/a"),
        (&["a"], STORED.replace("\"c\":2", "\"c\":0"), "/b"),
        (&["j/x"], STORED.replace("\"j\":{}", "\"j\":{\"x\":1}"), ""),
        (
            &["b/c", "g/i"],
            STORED.replace("\"c\":2", "\"c\":0").replace("\"f\":4", "\"f\":0"),
            "/b/d",
        ),
        (&["b/c", "g/i"], STORED.replace("\"i\":7", "\"i\":0"), "/g"),
        (&["a"], r#"{"a":0,"y~/":1}"#.to_owned(), "/y~0~1 /b /g /j /k"),
    ] {
        let pointers = mask(paths, true).changed(Some(&before), &members(&after));
        let pointers = pointers.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(pointers.join(" "), changed, "{paths:?} {after}");
    }
    for (paths, are_shown, new, set) in [
        (&["a", "b/c"][..], false, r#"{"a":1,"z":2,"b":{"d":1}}"#, "/a"),
        (
            &["g/i", "b/c"],
            false,
            r#"{"b":null,"g":[{"h":1},{"i":2},[{"i":3}],[]]}"#,
            "/g/1/i /g/2/0/i",
        ),
        (&["b/c", "g/i"], true, r#"{"b":{"c":1},"g":[{"h":1},{"i":2}],"z":{}}"#, "/g/0/h /z"),
        (&["b/c", "g/i"], true, r#"{"b":null,"g":"text"}"#, "/b /g"),
        (&["b/c", "g/i"], true, r#"{"g":[],"y":[1],"z":{"x":1}}"#, "/g /y /z"),
    ] {
        let pointers = mask(paths, are_shown).changed(None, &members(new));
        let pointers = pointers.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(pointers.join(" "), set, "{paths:?} {new}");
    }
}

fn item(text: &str) -> Item {
    Item {
        id: ItemId::NIL,
        version: Version::FIRST,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: text.into(),
        parent: None,
        continues: None,
        created_by: Some("key:ana".into()),
    }
}

#[test]
fn hidden_members_are_named_as_in_policies() {
    let text =
        r#"{"a":1,"b":{"c":2,"7":2},"g":[{"i":3},{"i":4}],"/x":5,"meta.created_by":6,"7":8}"#;
    let hidden = mask(&["b/d"], true).hidden(&item(text));
    assert_eq!(
        hidden,
        ["/b/7", "/b/c", "/meta.created_by", "/~1x", "7", "a", "g", "meta.created_by"]
    );
    let hidden = mask(&["g/i"], false).hidden(&item(text));
    assert_eq!(hidden, ["/g/i"]);
    let mut seen = item(text);
    mask(&["a"], true).apply(&mut seen);
    assert_eq!((&*seen.members, seen.created_by), (r#"{"a":1}"#, None));
    let mut seen = item(text);
    mask(&["a"], false).apply(&mut seen);
    assert_eq!(seen.created_by.as_deref(), Some("key:ana"));
}

#[test]
fn conditions_decide_what_is_visible() {
    let is_red = Predicate::Test(Operand::member("red"), Test::Exists);
    let path = |path: &str| path.split('/').map(Box::from).collect();
    let members = [
        (path("a"), is_red.clone()),
        (path("b/c"), Predicate::FALSE),
        (path("d"), is_red.clone()),
        (path("proposal_id"), is_red.clone()),
    ];
    let mask = Arc::new(Mask::new(FILES, members, Predicate::TRUE, is_red.clone()).unwrap());
    assert_eq!(mask.conditions(), [Predicate::TRUE, is_red.clone(), Predicate::FALSE]);
    let only = ["a", "d", "proposal_id"].map(str::to_owned).into();
    let except = ["a", "b", "d", "proposal_id"].map(str::to_owned).into();
    assert_eq!(
        mask.whole_members(),
        [(is_red, MemberSet::Only(only)), (Predicate::TRUE, MemberSet::Except(except))]
    );
    let (most, least) = (VisibleMembers::at_most(&mask), VisibleMembers::at_least(&mask));
    for (place, on_some, on_all) in [
        ("/a", true, false),
        ("/a/deep", true, false),
        ("/b", true, true),
        ("/b/x", true, true),
        ("/b/x/c", true, true),
        ("/b/c", false, false),
        ("/b/0/c", false, false),
        ("/other", true, true),
    ] {
        let place = place.split('/').skip(1).fold(Pointer::root(), |at, name| at.member(name));
        assert_eq!((most.shows(&place), least.shows(&place)), (on_some, on_all), "{place}");
    }
    assert_eq!((most.shows_callers(), least.shows_callers()), (true, false));
    let references = [&most, &least].map(|it| it.shows_references().collect::<Vec<_>>());
    assert_eq!(references, [[true], [false]]);
    assert!(!most.is_whole() && VisibleMembers::new(mask, vec![true; 3]).is_whole());
}

#[test]
fn a_member_is_whole_if_all_its_parts_are_visible() {
    let is_red = Predicate::Test(Operand::member("red"), Test::Exists);
    let path = ["b", "c"].map(Box::from).into_iter().collect();
    let mask =
        Mask::new(FILES, [(path, is_red.clone())], Predicate::TRUE, Predicate::TRUE).unwrap();
    assert_eq!((mask.of_member("b"), mask.reads()), (is_red, Vec::new()));
    assert_eq!(mask.of_member("a"), Predicate::TRUE);
    let lib = Predicate::related(Related {
        collection: Collection::known("lib"),
        key: RelatedKey::Parent,
        value: RelatedValue::Operand(Operand::current(Subject::Id)),
        latest: None,
        holds: Predicate::TRUE,
    });
    let mask = Mask::new(FILES, [], Predicate::TRUE, lib).unwrap();
    assert_eq!(mask.reads(), [Collection::known("lib")]);
    let nothing = Mask::new(FILES, [], Predicate::TRUE, Predicate::TRUE);
    assert_eq!(nothing, None);
}
