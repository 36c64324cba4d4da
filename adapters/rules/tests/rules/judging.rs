//! Rules of files as the domain asks them.

use std::sync::Arc;

use application::Rule;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Members, Severity, Transition, Verdict,
    Version, WriteContext, WriteOperation,
};
use jiff::Timestamp;
use jiff::civil::date;

use crate::files::{errors_of, folder, load_text};

const ID: &str = "01980000-0000-7000-8000-000000000001";

fn rule(keys: &str) -> Arc<dyn Rule> {
    let text = format!("rules:\n- id: the_rule\n  group: files\n{keys}");
    load_text(&text).rules_of(Collection::known("files"))[0].clone()
}

fn members(json: &str) -> Members {
    Members::read(json.as_bytes()).expect("JSON").expect("an object")
}

fn context(operation: WriteOperation) -> WriteContext {
    WriteContext { id: ItemId::parse(ID).expect("an id"), ..WriteContext::any(operation) }
}

fn item(json: &str) -> Item {
    let id = ItemId::parse("01980000-0000-7000-8000-000000000002").expect("an id");
    let (created_at, updated_at) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    Item {
        id,
        version: Version::FIRST,
        created_at,
        updated_at,
        members: json.into(),
        parent: None,
        continues: None,
        created_by: None,
    }
}

fn block_on<T>(evaluation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(evaluation)
}

/// The detail of the violation that a rule finds in a create.
fn detail(rule: &dyn Rule, after: &str, found: &[Found]) -> Option<String> {
    let (after, context) = (members(after), context(WriteOperation::Create));
    let transition = Transition { before: None, after: &after, context: &context, found };
    block_on(rule.check(&transition)).err().map(|violation| violation.detail)
}

/// The first lookups of a rule for a create, or why there are none.
fn lookups(rule: &dyn Rule, after: &str) -> Result<Vec<Lookup>, String> {
    lookups_after(rule, after, &[])
}

fn lookups_after(rule: &dyn Rule, after: &str, found: &[Found]) -> Result<Vec<Lookup>, String> {
    let (after, context) = (members(after), context(WriteOperation::Create));
    let transition = Transition { before: None, after: &after, context: &context, found };
    block_on(rule.lookups(&transition)).map_err(|violation| violation.detail)
}

fn lookup(collection: &'static str, key: LookupKey) -> Lookup {
    let without = ItemId::parse(ID).expect("an id");
    Lookup { collection: Collection::known(collection), key, without }
}

#[test]
fn a_rule_has_the_keys_of_its_file() {
    let text = "
rules:
- id: size_is_known
  group: files
  on: [replace, delete]
  when: self.kind == 'pdf'
  check: has(self.size) && self.pages > 0
  message: say how large it is
  field: /size
  severity: warning
  effective: {from: 2026-01-01, until: 2026-12-31}
  description: Files have a size.
  source: a memo
- {id: other, group: lib, check: 'true', message: no}
";
    let rules = load_text(text);
    let of = |name| rules.rules_of(Collection::known(name));
    assert_eq!((of("files").len(), of("lib").len(), of("proposals").len()), (1, 1, 0));
    let rule = of("files")[0].clone();
    let about = rule.about();
    assert_eq!(
        (about.code, about.severity, rule.fields()),
        ("size_is_known", Severity::Warning, vec!["kind", "pages", "size"])
    );
    assert_eq!(about.operations, [WriteOperation::Replace, WriteOperation::Delete]);
    assert_eq!((about.message, about.pointer), (Some("say how large it is"), Some("/size")));
    assert_eq!((about.description, about.source), (Some("Files have a size."), Some("a memo")));
    for (day, is_in_force) in
        [("2025-12-31", false), ("2026-01-01", true), ("2026-12-31", true), ("2027-01-01", false)]
    {
        assert_eq!(about.is_in_force(day.parse().expect("a day")), is_in_force, "{day}");
    }
    let plain = of("lib")[0].clone();
    let plain = plain.about();
    let writes = [WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch];
    assert_eq!(plain.operations, writes);
    assert_eq!((plain.severity, plain.is_in_force(date(1, 1, 1))), (Severity::Error, true));
    let summary = rules.rules().next().expect("a rule").summary(date(2026, 6, 1));
    for line in [
        "  judges     replace, delete of files",
        "  effective  from 2026-01-01 until 2026-12-31, in force today",
        "  reads      kind, pages, size",
    ] {
        assert!(summary.contains(line), "{line}\n{summary}");
    }
}

#[test]
fn a_violation_has_the_rule_the_field_and_the_message() {
    let fixed = rule("  check: self.a == 1\n  message: |\n    say one\n  field: /a~1b/0");
    let (after, context) = (members(r#"{"a":2}"#), context(WriteOperation::Create));
    let mut verdict = Verdict::default();
    let transition = Transition { before: None, after: &after, context: &context, found: &[] };
    verdict.note(&fixed.about(), block_on(fixed.check(&transition)).err());
    let violation = verdict.errors.iter().next().expect("a violation");
    assert_eq!((violation.pointer.to_string().as_str(), &*violation.field), ("/a~1b/0", "a/b"));
    assert_eq!(
        (&*violation.code, violation.rule.as_deref(), violation.detail.as_str()),
        ("the_rule", Some("the_rule"), "say one")
    );
    let computed = rule("  check: self.a == 1\n  message_expression: '\"not \" + string(self.a)'");
    assert_eq!(detail(&*computed, r#"{"a":2}"#, &[]).as_deref(), Some("not 2"));
    assert_eq!(detail(&*computed, r#"{"a":1}"#, &[]), None);
}

#[test]
fn a_rule_that_cannot_be_decided_is_not_passed() {
    let said = |keys: &str, after: &str| detail(&*rule(keys), after, &[]).expect("a violation");
    let failing = said("  check: self.a == 1\n  message: no", "{}");
    let expected = "the rule `the_rule` could not be evaluated, so it counts as failed: ";
    assert!(failing.starts_with(expected), "{failing}");
    let guard = said("  when: self.a\n  check: 'true'\n  message: no", r#"{"a":5}"#);
    assert!(guard.contains("could not be evaluated"), "{guard}");
    let message = "  check: 'false'\n  message_expression: self.text";
    assert_eq!(said(message, "{}"), "the rule `the_rule` is not met");
    let long = said(message, &format!(r#"{{"text":"{}"}}"#, "é".repeat(5_000)));
    assert_eq!(long.chars().count(), 2_001);
    let endless = "  check: 'self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))'\n  message: no";
    let list: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
    let endless = said(endless, &format!(r#"{{"l":[{}]}}"#, list.join(",")));
    assert!(endless.contains("too much time or memory"), "{endless}");
}

#[test]
fn a_guard_is_evaluated_before_the_lookups() {
    let guarded = rule(
        "  when: has(self.program)\n  lookup: {program: 'proposedprograms[self.program]'}\n  check: program != null\n  message: no",
    );
    let after = format!(r#"{{"program":"{ID}"}}"#);
    let id = LookupKey::Id(ItemId::parse(ID).expect("an id"));
    for (after, key) in
        [("{}", LookupKey::Nothing), (r#"{"program":"no id"}"#, LookupKey::Nothing), (&after, id)]
    {
        assert_eq!(lookups(&*guarded, after), Ok(vec![lookup("proposedprograms", key)]), "{after}");
    }
    assert_eq!(detail(&*guarded, "{}", &[Found::Items(Vec::new())]), None);
    assert_eq!(detail(&*guarded, &after, &[Found::Items(Vec::new())]).as_deref(), Some("no"));
    assert_eq!(detail(&*guarded, &after, &[Found::Items(vec![item("{}")])]), None);
}

#[test]
fn lookups_are_by_id_by_member_and_by_parent() {
    let rule = rule(
        "  lookup:\n    a: lib[parent = self.id]\n    b: 'proposals[program_id = self.n]'\n    c: files[self.missing_or_null]\n  check: 'true'\n  message: no",
    );
    let member = LookupKey::Member { name: "program_id".into(), value: "7".into() };
    let expected = vec![
        lookup("lib", LookupKey::Parent(ItemId::parse(ID).expect("an id"))),
        lookup("proposals", member),
        lookup("files", LookupKey::Nothing),
    ];
    assert_eq!(lookups(&*rule, r#"{"n":7,"missing_or_null":null}"#), Ok(expected));
    let refused = lookups(&*rule, "{}").expect_err("a violation");
    assert!(refused.contains("could not be evaluated"), "{refused}");
}

const CHAIN: &str = "  when: has(self.proposal)
  lookup:
    proposal: proposals[self.proposal]
    same: files[proposal = self.proposal]
    programme: 'proposedprograms[has(proposal.program_id) ? proposal.program_id : null]'
    scores: gadscores[proposal_id = latest(same).id]
    leader: 'proposals[researcher_id = programme.leader]'
  check: programme == null || size(leader) < 2
  message: no";

#[test]
fn a_lookup_may_use_the_result_of_an_earlier_one() {
    let rule = rule(CHAIN);
    let of_proposal = format!(r#"{{"proposal":"{ID}"}}"#);
    let (id, other) = (ItemId::parse(ID).expect("an id"), item("{}").id);
    let member =
        |name: &str, value: &str| LookupKey::Member { name: name.into(), value: value.into() };
    let items = |items: &[&str]| Found::Items(items.iter().map(|json| item(json)).collect());
    let next = |found: &[Found]| lookups_after(&*rule, &of_proposal, found).expect("lookups");
    let first = [lookup("proposals", LookupKey::Id(id)), lookup("files", member("proposal", ID))];
    assert_eq!(next(&[]), first);
    let mut found = vec![items(&[&format!(r#"{{"program_id":"{ID}"}}"#)]), items(&["{}"])];
    let second = [
        lookup("proposedprograms", LookupKey::Id(id)),
        lookup("gadscores", member("proposal_id", &other.to_string())),
    ];
    assert_eq!(next(&found), second);
    found.extend([items(&[r#"{"leader":7}"#]), items(&[])]);
    assert_eq!(next(&found), [lookup("proposals", member("researcher_id", "7"))]);
    found.push(items(&["{}"]));
    assert_eq!(next(&found), []);
    assert_eq!(detail(&*rule, &of_proposal, &found), None);
    found[4] = items(&["{}", "{}"]);
    assert_eq!(detail(&*rule, &of_proposal, &found).as_deref(), Some("no"));
}

#[test]
fn a_lookup_that_finds_nothing_ends_its_chain() {
    let rule = rule(CHAIN);
    let of_proposal = format!(r#"{{"proposal":"{ID}"}}"#);
    let (none, nothing) =
        (Found::Items(Vec::new()), |collection| lookup(collection, LookupKey::Nothing));
    let next = |found: &[Found]| lookups_after(&*rule, &of_proposal, found);
    let mut found = vec![none.clone(); 2];
    assert_eq!(next(&found), Ok(vec![nothing("proposedprograms"), nothing("gadscores")]));
    found.extend([none.clone(), none.clone()]);
    assert_eq!(next(&found), Ok(vec![nothing("proposals")]));
    found.push(none.clone());
    assert_eq!(detail(&*rule, &of_proposal, &found), None);
    // A guard that is false ends all chains at once.
    let all = ["proposals", "files", "proposedprograms", "gadscores", "proposals"].map(nothing);
    assert_eq!(lookups(&*rule, "{}"), Ok(all.to_vec()));
    // A member that is absent, and too many items, end no chain: the rule cannot be evaluated.
    let found = [Found::Items(vec![item(&format!(r#"{{"program_id":"{ID}"}}"#))]), none];
    let without = [
        found.as_slice(),
        &[Found::Items(vec![item(r#"{"name":"secret"}"#)]), Found::Items(Vec::new())],
    ]
    .concat();
    let refused = next(&without).expect_err("a violation");
    assert!(
        refused.ends_with("counts as failed; the log of the service has the reason"),
        "{refused}"
    );
    let refused = next(&[Found::TooLarge, Found::TooMany]).expect_err("a violation");
    assert!(refused.contains("the lookup `proposal` found more than 4194304 bytes"), "{refused}");
}

#[test]
fn found_items_are_not_quoted_if_a_rule_cannot_be_decided() {
    for keys in [
        "check: sum(items.map(item, item.amount)) > 1",
        "when: decimal(items[0].amount) > 1\n  check: 'true'",
    ] {
        let rule =
            rule(&format!("  lookup: {{items: 'lib[parent = self.id]'}}\n  {keys}\n  message: no"));
        let found = [Found::Items(vec![item(r#"{"amount":"secret"}"#)])];
        assert_eq!(
            detail(&*rule, "{}", &found).expect("a violation"),
            "the rule `the_rule` could not be evaluated, so it counts as failed; the log of the service has the reason"
        );
    }
}

#[test]
fn too_much_found_is_not_passed() {
    let counted =
        rule("  lookup: {same: 'files[name = self.name]'}\n  check: size(same) < 5\n  message: no");
    let after = r#"{"name":"x"}"#;
    for (found, reason) in [
        (Found::TooMany, "`same` found more than 1000 items"),
        (Found::TooLarge, "`same` found more than 4194304 bytes"),
    ] {
        let said = detail(&*counted, after, &[found]).expect("a violation");
        assert!(said.contains(reason), "{said}");
    }
    assert!(detail(&*counted, after, &[]).expect("a violation").contains("not made"));
    assert_eq!(detail(&*counted, after, &[Found::Items(vec![item("{}")])]), None);
}

#[test]
fn errors_of_expressions_have_their_lines() {
    for (check, place) in [
        ("check: self.a == nosuch", "4:20"),
        ("check: 'self.a == ''x'' && nosuch'", "4:30"),
        ("check: \"self.a == \\\"x\\\" &&\\n nosuch\"", "4:32"),
        ("check: |\n    self.a == 1\n    && (self.b == 2\n      || nosuch)", "7:10"),
        ("check: >-\n\n    self.a == 1\n    && nosuch", "7:8"),
        ("check: self.a == 1\n    && nosuch", "5:8"),
        ("check: 'true'\n  lookup: {l: 'lib[parent = nosuch]'}", "5:29"),
        ("check: 'true'\n  when: nosuch", "5:9"),
    ] {
        let text = format!("rules:\n- id: r\n  group: files\n  {check}\n  message: no\n");
        let errors = errors_of(&folder(&[("rules.yaml", &text)]));
        let line = |line: &'_ String| {
            line.strip_prefix("rules.yaml:")?.split(": ").next().map(str::to_owned)
        };
        let places: Vec<_> = errors.iter().filter_map(line).collect();
        assert_eq!(places, [place], "{check}\n{errors:#?}");
    }
}
