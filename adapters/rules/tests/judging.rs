//! Rules of files as the domain asks them.

use std::fs;
use std::sync::Arc;

use application::Rule;
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Members, Severity, Transition, Verdict,
    Version, WriteContext, WriteOperation,
};
use jiff::Timestamp;
use jiff::civil::date;
use rules_adapter::RuleSet;

const ID: &str = "01980000-0000-7000-8000-000000000001";

/// The rules of a file.
fn load(text: &str) -> RuleSet {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yaml");
    fs::write(&path, text).expect("a file");
    RuleSet::load(&path, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The one rule about files that these keys make.
fn rule(keys: &str) -> Arc<dyn Rule> {
    let text = format!("rules:\n- id: the_rule\n  group: files\n{keys}");
    load(&text).rules_of(Collection::known("files"))[0].clone()
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
    }
}

fn block_on<T>(evaluation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(evaluation)
}

/// Returns the detail of the violation that a rule finds in a create.
fn detail(rule: &dyn Rule, after: &str, found: &[Found]) -> Option<String> {
    let (after, context) = (members(after), context(WriteOperation::Create));
    let transition = Transition { before: None, after: &after, context: &context, found };
    block_on(rule.check(&transition)).err().map(|violation| violation.detail)
}

fn looks_for(rule: &dyn Rule, after: &str) -> Vec<LookupKey> {
    let (after, context) = (members(after), context(WriteOperation::Create));
    let transition = Transition { before: None, after: &after, context: &context, found: &[] };
    block_on(rule.lookups(&transition))
        .expect("lookups")
        .into_iter()
        .map(|lookup| lookup.key)
        .collect()
}

#[test]
fn a_rule_says_of_itself_what_its_file_says() {
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
    let rules = load(text);
    let of_files = rules.rules_of(Collection::known("files"));
    assert_eq!(
        (
            of_files.len(),
            rules.rules_of(Collection::known("lib")).len(),
            rules.rules_of(Collection::known("proposals")).len()
        ),
        (1, 1, 0)
    );
    let rule = &of_files[0];
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
    let plain = &rules.rules_of(Collection::known("lib"))[0];
    assert_eq!(
        plain.about().operations,
        [WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch]
    );
    assert_eq!(
        (plain.about().severity, plain.about().is_in_force(date(1, 1, 1))),
        (Severity::Error, true)
    );
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
fn what_cannot_be_decided_is_not_passed() {
    let failing = rule("  check: self.a == 1\n  message: no");
    let said = detail(&*failing, "{}", &[]).expect("a violation");
    assert!(
        said.starts_with("the rule `the_rule` could not be decided, so it counts as not passed: "),
        "{said}"
    );
    let guard = rule("  when: self.a\n  check: 'true'\n  message: no");
    assert!(
        detail(&*guard, r#"{"a":5}"#, &[]).expect("a violation").contains("could not be decided")
    );
    let message = rule("  check: 'false'\n  message_expression: self.text");
    assert_eq!(detail(&*message, "{}", &[]).as_deref(), Some("the rule `the_rule` is not met"));
    let long = rule("  check: 'false'\n  message_expression: self.text");
    let said = detail(&*long, &format!(r#"{{"text":"{}"}}"#, "é".repeat(5_000)), &[])
        .expect("a violation");
    assert_eq!(said.chars().count(), 2_001);
    let endless = rule(
        "  check: 'self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))'\n  message: no",
    );
    let list: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
    let said =
        detail(&*endless, &format!(r#"{{"l":[{}]}}"#, list.join(",")), &[]).expect("a violation");
    assert!(said.contains("too much time or memory"), "{said}");
}

#[test]
fn a_guard_is_asked_before_anything_is_looked_up() {
    let guarded = rule(
        "  when: has(self.program)\n  lookup: {program: 'proposedprograms[self.program]'}\n  check: program != null\n  message: no",
    );
    assert_eq!(looks_for(&*guarded, "{}"), [LookupKey::Nothing]);
    assert_eq!(detail(&*guarded, "{}", &[Found::Items(Vec::new())]), None);
    let id = ItemId::parse(ID).expect("an id");
    let after = format!(r#"{{"program":"{ID}"}}"#);
    assert_eq!(looks_for(&*guarded, &after), [LookupKey::Id(id)]);
    assert_eq!(detail(&*guarded, &after, &[Found::Items(Vec::new())]).as_deref(), Some("no"));
    assert_eq!(detail(&*guarded, &after, &[Found::Items(vec![item("{}")])]), None);
    assert_eq!(looks_for(&*guarded, r#"{"program":"no id"}"#), [LookupKey::Nothing]);
}

#[test]
fn lookups_are_by_id_by_member_and_by_parent() {
    let rule = rule(
        "  lookup:\n    a: lib[parent = self.id]\n    b: 'proposals[program_id = self.n]'\n    c: files[self.missing_or_null]\n  check: 'true'\n  message: no",
    );
    let after = members(r#"{"n":7,"missing_or_null":null}"#);
    let context = context(WriteOperation::Create);
    let transition = Transition { before: None, after: &after, context: &context, found: &[] };
    let lookups = block_on(rule.lookups(&transition)).expect("lookups");
    let id = ItemId::parse(ID).expect("an id");
    let lookup = |collection, key| Lookup { collection, key, without: id };
    let member = LookupKey::Member { name: "program_id".into(), value: "7".into() };
    let expected = [
        lookup(Collection::known("lib"), LookupKey::Parent(id)),
        lookup(Collection::known("proposals"), member),
        lookup(Collection::known("files"), LookupKey::Nothing),
    ];
    assert_eq!(lookups, expected);
    let none = members("{}");
    let error = block_on(rule.lookups(&Transition { after: &none, ..transition }));
    let error = error.expect_err("a violation");
    assert!(error.detail.contains("could not be decided"), "{}", error.detail);
}

#[test]
fn what_was_looked_up_is_not_quoted_where_a_rule_cannot_be_decided() {
    let summed = rule(
        "  lookup: {items: 'lib[parent = self.id]'}\n  check: sum(items.map(item, item.amount)) > 1\n  message: no",
    );
    let guarded = rule(
        "  lookup: {items: 'lib[parent = self.id]'}\n  when: decimal(items[0].amount) > 1\n  check: 'true'\n  message: no",
    );
    for rule in [summed, guarded] {
        let found = [Found::Items(vec![item(r#"{"amount":"secret"}"#)])];
        let said = detail(&*rule, "{}", &found).expect("a violation");
        assert_eq!(
            said,
            "the rule `the_rule` could not be decided, so it counts as not passed; the log of the service says why"
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
    assert!(detail(&*counted, after, &[]).expect("a violation").contains("not asked"));
    assert_eq!(detail(&*counted, after, &[Found::Items(vec![item("{}")])]), None);
}

#[test]
fn errors_of_expressions_are_told_at_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yaml");
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
        fs::write(&path, format!("rules:\n- id: r\n  group: files\n  {check}\n  message: no\n"))
            .expect("a file");
        let errors = RuleSet::load(&path, &[]).err().expect(check);
        let (errors, prefix) = (errors.to_string(), format!("{}:", path.display()));
        let found: Vec<_> = errors
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix)?.split(": ").next())
            .collect();
        assert_eq!(found, [place], "{check}\n{errors}");
    }
}
