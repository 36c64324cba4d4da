//! The CEL rules for operators, members and macros, and our additions to them.

use domain::Found;

use super::super::{
    ANY, BOOLEAN, EvaluationError, Expression, KEY, MemberRead, STRING, Scope, Variables, is_taken,
};
use super::{
    ID, ITEM, OTHER_ID, all_fail, all_hold, compile, context, item, judge, lookups, members, meter,
    scope,
};

#[test]
fn operators_compute_and_compare() {
    all_hold(&[
        "1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 / 2 == -3 && (!false && true || false)",
        "self.count == 3 && self.count * 0.5 == 1.5 && self.budget > 1250 && self.budget < 1251",
        "9007199254740993 > 9007199254740992 && 9007199254740993 == 9007199254740992.0",
        "9007199254740993 > decimal('9007199254740992') && self.tags[dyn(1.0)] == 'feed'",
        "self.lead.`name` == 'Ana' && has({'a b': 1}.`a b`) && dyn(1) != 'a'",
        "type(now) == google.protobuf.Timestamp && type(now - now) == google.protobuf.Duration",
        "type(self.count) == int && type(self.budget) == double && type(self.large) == decimal && type(null) == null_type",
        "self.rows == self.rows && self.lead == self.lead && self == self",
        "(self.count == 3 ? 1 : 'x') == 1",
    ]);
}

#[test]
fn members_are_reached_and_tested() {
    all_hold(&[
        "self.title == 'Rice straw as a feed' && self['title'] == self.title && self.quoted == 'a \"b\" é\\n'",
        "has(self.title) && has(self.nothing) && !has(self.missing) && has(self.lead.name) && !has(self.lead.phone)",
        "self.nothing == null && self.yes && self.lead.roles[1] == 'editor' && self.rows[0].kind == 'a' && self.tags[2] == 'rice'",
        &format!("self.id == '{ID}' && has(self.id)"),
        "'name' in self.lead && !('phone' in self.lead) && 'id' in self && self['id'] == self.id",
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && {1: 'x'}[1] == 'x' && has({'a': 1}.a) && !has({'a': 1}.b)",
        "old == null && parent == null && caller.id == 'ana' && today == '2026-02-01'",
        "now > timestamp('2026-01-31T00:00:00Z') && now - duration('24h') < timestamp('2026-02-01T00:00:00Z')",
        "size(self) == 16 && size(self.lead) == 3 && self.lead.all(key, size(key) == 4 || key == 'roles')",
    ]);
}

#[test]
fn what_was_looked_up_is_an_item_or_a_list() {
    all_hold(&[
        "program.ceiling == 1000 && program != null && has(program.name)",
        &format!("program.id == '{OTHER_ID}' && program.parent == self.id"),
        "lib.size() == 2 && lib.map(item, item.size).sum() == 3 && lib[1].size == 2 && lib.all(item, item.parent == self.id)",
    ]);
    let (after, context, lookups) = (members(ITEM), context(), lookups());
    let judge = |source: &str, found: &[Found]| {
        let scope = Scope { lookups: &lookups, found, ..scope(&after, &context) };
        compile(source).unwrap().boolean(&scope, &meter())
    };
    let nothing = [Found::Items(vec![]), Found::Items(vec![])];
    assert_eq!(judge("program == null && lib == []", &nothing), Ok(true));
    for (found, words) in
        [(Found::TooMany, "more than 1000 items"), (Found::TooLarge, "more than 4194304 bytes")]
    {
        let reason = judge("lib == []", &[Found::Items(vec![]), found]).unwrap_err().into_reason();
        assert!(reason.contains(words) && reason.contains("`lib`"), "{reason}");
    }
    assert!(matches!(judge("program == null", &[]), Err(EvaluationError::Failed(_))));
}

#[test]
fn the_state_before_and_the_caller_are_known() {
    let (after, before) = (members(r#"{"status": "APPROVED"}"#), members(r#"{"status": "DRAFT"}"#));
    let context =
        domain::WriteContext { caller: None, parent: domain::ItemId::parse(OTHER_ID), ..context() };
    let scope = Scope { before: Some(&before), ..scope(&after, &context) };
    let source = format!(
        "old.status == 'DRAFT' && self.status != old.status && old.id == self.id && caller.id == null && parent == '{OTHER_ID}'"
    );
    let expression = Expression::compile(&source, BOOLEAN, &[]).unwrap();
    assert_eq!(expression.boolean(&scope, &meter()), Ok(true));
}

#[test]
fn macros_go_through_lists_and_maps() {
    all_hold(&[
        "[].all(x, x) && ![].exists(x, x) && [2].existsOne(x, true) && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "[[1, 2], [3]].map(x, x.map(y, y + size(x))) == [[3, 4], [4]] && [1].map(x, [2].map(x, x)) == [[2]]",
        "self.rows.filter(row, has(row.amount)).map(row, row.amount) == ['10.10', '20.20']",
        "2 in [1, 2] && !('x' in ['y']) && self.status in ['DRAFT', 'SUBMITTED'] && 'rice' in self.tags",
    ]);
}

#[test]
fn a_decided_condition_absorbs_the_fault_of_its_other_side() {
    all_hold(&[
        "self.missing == 1 || true",
        "true || self.missing == 1",
        "!(self.missing == 1 && false)",
        "[1, 'x', 3].exists(x, x > 2)",
        "![1, 'x', -3].all(x, x > 0)",
    ]);
    all_fail(
        "
        self.missing == 1 || false => `self.missing` is missing; test has(self.missing) first
        true && self.missing == 1 => `self.missing` is missing
        [1, 'x'].exists(x, x > 2) => `>` does not take a string and an integer
        self.missing ? true : true => `self.missing` is missing
        ",
    );
}

#[test]
fn faults_say_what_is_wrong_with_which_member() {
    all_fail(
        r#"
        self.lead.phone == 'x' => `self.lead.phone` is missing; test has(self.lead.phone) first
        old.status == 'x' => `old` is null and has no member "status"; test old != null first
        has(self.missing.name) => `self.missing` is missing
        self.title.name == 'x' => `self.title` is a string and has no member "name"
        self.rows.all(row, row.amount != '') => `row.amount` is missing
        self.title > 3 => `>` does not take a string and an integer
        self.title + self.count == 'x' => `+` does not take a string and an integer
        self.tags[9] == 'x' => the list has no element 9
        self.lead['phone'] == 'x' => there is no member "phone"
        self.title => `self.title` must be a boolean here, not a string
        self.count && true => `self.count` must be a boolean here, not an integer
        words(self.nothing) > 1 => words() takes a string, and `self.nothing` is null
        self.count.all(x, true) => `self.count` must be a list or a map here, not an integer
        self.count / (self.count - 3) == 1 => 3 cannot be divided by zero
        9223372036854775807 + self.count == 1 => too large for an integer
        {self.title: 1, 'Rice straw as a feed': 2}.size() == 2 => a key of a map is given more than once
        {self.nothing: 1}.size() == 2 => the key of a map
        "#,
    );
}

#[test]
fn texts_and_keys_are_results_too() {
    let (after, context) = (members(ITEM), context());
    let scope = scope(&after, &context);
    let text =
        |source: &str| Expression::compile(source, STRING, &[]).unwrap().string(&scope, &meter());
    assert_eq!(text("'has ' + string(words(self.title)) + ' words'"), Ok("has 5 words".to_owned()));
    assert!(matches!(text("self.count"), Err(EvaluationError::Failed(_))));
    let key = |source: &str| Expression::compile(source, KEY, &[]).unwrap().key(&scope, &meter());
    assert_eq!(key("self.title"), Ok(Some("Rice straw as a feed".to_owned())));
    assert_eq!((key("self.count"), key("self.nothing")), (Ok(Some("3".to_owned())), Ok(None)));
    assert!(matches!(key("self.yes"), Err(EvaluationError::Failed(_))));
}

#[test]
fn what_it_reads_is_known() {
    let reads = |expression: &Expression| -> Vec<String> {
        let read = |read: &MemberRead| format!("{:?} {} {}", read.of, read.name, read.offset);
        expression.reads().iter().map(read).collect()
    };
    let source = "has(self.title) && self['lead'].name == self.id && old.status == self.title";
    let expression = compile(source).unwrap();
    assert_eq!(
        reads(&expression),
        ["After title 4", "After lead 19", "After id 40", "Before status 51", "After title 65"]
    );
    let source = "program.x == 1 && lib.filter(y, y.a > 0).all(z, z.b == self.id)";
    assert_eq!(
        reads(&compile(source).unwrap()),
        ["Lookup(0) x 0", "Lookup(1) a 32", "Lookup(1) b 48", "After id 55"]
    );
    assert!(!expression.uses_lookups);
    assert!(compile("lib.size() > 0").unwrap().uses_lookups);
    assert!(!compile("[1].all(lib, lib > 0)").unwrap().uses_lookups);
    assert!(is_taken("self") && is_taken("int") && !is_taken("program"));
}

#[test]
fn conditions_that_are_always_the_same_are_known() {
    for (source, has_old, result) in [
        ("false", None, Some(false)),
        ("self.a == 1", None, None),
        ("self.a == 1 && false", None, Some(false)),
        ("self.a == 1 || !false", None, Some(true)),
        ("self.a == 1 || false", None, None),
        ("old != null", None, None),
        ("old != null && self.a == 1", Some(false), Some(false)),
        ("null == old || self.a == 1", Some(false), Some(true)),
        ("has(old.a)", Some(false), Some(false)),
        ("has(old.a)", Some(true), None),
        ("old == null", Some(true), Some(false)),
        ("old == null ? false : self.a == 1", Some(false), Some(false)),
    ] {
        assert_eq!(compile(source).unwrap().constant_result(has_old), result, "{source}");
    }
}

#[test]
fn dates_and_what_they_are_used_with_are_known() {
    for row in [
        "today > 'soon' => [DateUse { member: None, compared: Some(\"soon\") }]",
        "'soon' != date(now) => [DateUse { member: None, compared: Some(\"soon\") }]",
        "add_days(self.a, 1) in ['x', 'y'] => [DateUse { member: None, compared: Some(\"x\") }, \
         DateUse { member: None, compared: Some(\"y\") }]",
        "self.a + 30 > self.b => [DateUse { member: Some(MemberRead { of: After, name: \"a\", offset: 0 }), compared: None }]",
        "self.a > today && self.b * 2 > 1 && today.startsWith('2026') => []",
    ] {
        let (source, found) = row.split_once(" => ").unwrap();
        assert_eq!(format!("{:?}", compile(source).unwrap().date_uses()), found, "{source}");
    }
}

#[test]
fn names_that_json_escapes_are_found() {
    let json = r#"{"a\"b": 1, "m": {"c\"d": 2, "\u00e9": 3}}"#;
    let holds = "self['a\"b'] == 1 && self.m['c\"d'] == 2 && self.m['é'] == 3 && self.m.exists(k, k == 'c\"d')";
    assert_eq!(judge(holds, json), Ok(true));
    assert_eq!(item("{}").members.as_ref(), "{}");
}

#[test]
fn an_expression_about_a_token_knows_its_claims_and_nothing_of_a_write() {
    let compile = |source| Expression::compile_with(Variables::OF_A_TOKEN, source, ANY, &[]);
    let claims = members(r#"{"sub":"ana","groups":["a","b-1"],"org":{"id":7}}"#);
    let scope = Scope::of_token(&claims);
    for (source, value) in [
        ("claims.sub", r#""ana""#),
        ("claims.groups.filter(group, group.startsWith('b'))", r#"["b-1"]"#),
        ("has(claims.name) ? claims.name : null", "null"),
        ("claims.org.id + 1", "8"),
    ] {
        let compiled = compile(source).unwrap_or_else(|error| panic!("{source}: {error:?}"));
        let (json, _) = compiled.json(&scope, &meter(), 100).unwrap();
        assert_eq!(json.text, value, "{source}");
    }
    for source in ["self.a", "caller.id", "now", "today", "old", "parent"] {
        let error = compile(source).unwrap_err();
        assert!(error.reason.contains("there is no variable"), "{source}: {}", error.reason);
    }
    let error = Expression::compile("claims.sub", ANY, &[]).unwrap_err();
    assert!(error.reason.contains("there is no variable `claims`"), "{}", error.reason);
}
