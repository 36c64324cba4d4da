use std::sync::Arc;

use application::{
    RepositoryError, RuleTrial, RuleTrials as _, TrialLookup, TrialLookups, TrialReport,
    TrialSubject, TrialVerdict,
};
use async_trait::async_trait;
use domain::{
    Collection, Found, Lookup, LookupKey, Members, Principal, WriteContext, WriteOperation,
};
use jiff::civil::date;

use super::Trials;
use crate::rule_set::RuleSet;
use crate::sample_items::SampleItem;

fn members(json: &str) -> Members {
    Members::read(json.as_bytes()).unwrap().unwrap()
}

fn trial(subject: TrialSubject, item: &str) -> RuleTrial {
    RuleTrial {
        subject,
        collection: Collection::known("files"),
        after: Some(members(item)),
        before: None,
        lookups: Vec::new(),
        looks_up_stored: false,
        makes_case: false,
    }
}

fn expression(source: &str, item: &str) -> RuleTrial {
    trial(TrialSubject::Expression(source.to_owned()), item)
}

fn rule(source: &str, item: &str) -> RuleTrial {
    trial(TrialSubject::Yaml(source.to_owned()), item)
}

/// Finds a programme by its id, four items by a member `many`, and no other item. Files may not be
/// read.
struct Stored;

#[async_trait]
impl TrialLookups for Stored {
    async fn look_up(&self, lookup: &Lookup) -> Result<Option<Found>, RepositoryError> {
        let item = |place: usize| {
            let members = members(r#"{"title": "stored", "leader": "L"}"#);
            SampleItem { id: None, parent: None, members }.found_by(0, place)
        };
        if lookup.collection == Collection::known("files") {
            return Ok(None);
        }
        Ok(Some(Found::Items(match &lookup.key {
            LookupKey::Id(_) => vec![item(0)],
            LookupKey::Member { name, value } if &**name == "many" && &**value == "L" => {
                (0..4).map(item).collect()
            }
            LookupKey::Nothing => panic!("an empty lookup reads nothing"),
            _ => Vec::new(),
        })))
    }
}

async fn report(trial: &RuleTrial) -> TrialReport {
    let context = WriteContext {
        today: date(2026, 6, 30),
        now: "2026-06-30T10:00:00Z".parse().expect("a time"),
        caller: Some(Arc::new(Principal::named("ann"))),
        ..WriteContext::any(WriteOperation::Create)
    };
    let report = Trials.run(trial, context, Arc::new(Stored)).await.expect("no store");
    report.unwrap_or_else(|violations| panic!("{violations:?}"))
}

/// The errors, each as `POINTER LINE:COLUMN MESSAGE`, as far as it has them.
fn errors(report: &TrialReport) -> Vec<String> {
    let of = |error: &application::TrialError| {
        let place = error.place.map(|(line, column)| format!("{line}:{column}"));
        format!("{} {} {}", error.pointer, place.unwrap_or_default(), error.message)
    };
    report.errors.iter().map(of).collect()
}

fn sources(report: &TrialReport) -> Vec<&str> {
    report.trace.iter().map(|entry| entry.expression.as_str()).collect()
}

const SIZED: &str = "
id: sized
group: files
when: has(self.size)
check: self.size > 0
message_expression: \"'it has ' + string(self.size) + ' bytes'\"
";

#[tokio::test]
async fn a_rule_passes_fails_or_has_nothing_to_check() {
    let passed = report(&rule(SIZED, r#"{"size": 1}"#)).await;
    assert_eq!((passed.verdict, passed.message, passed.skipped), (TrialVerdict::Pass, None, None));
    assert_eq!(passed.value.unwrap().json, "true");
    let failed = report(&rule(SIZED, r#"{"size": 0}"#)).await;
    assert_eq!(failed.verdict, TrialVerdict::Fail);
    assert_eq!(failed.message.as_deref(), Some("it has 0 bytes"));
    assert_eq!(sources(&failed)[..3], ["has(self.size)", "self.size", "self.size > 0"]);
    assert_eq!(failed.trace[2].outcome.as_ref().unwrap().json, "false");
    let guarded = report(&rule(SIZED, "{}")).await;
    assert_eq!((guarded.verdict, guarded.value), (TrialVerdict::Pass, None));
    assert_eq!(guarded.skipped.as_deref(), Some("`when` is false"));
    let early = format!("{SIZED}effective: {{from: 2026-07-01}}");
    let skipped = report(&rule(&early, r#"{"size": 0}"#)).await.skipped;
    assert_eq!(skipped.as_deref(), Some("the rule is not in force on 2026-06-30"));
    let changes = format!("{SIZED}on: [replace]");
    let created = report(&rule(&changes, r#"{"size": 0}"#)).await;
    assert_eq!(created.skipped.as_deref(), Some("the rule does not apply to a create"));
    let replaced = RuleTrial { before: Some(members("{}")), ..rule(&changes, r#"{"size": 0}"#) };
    assert_eq!(report(&replaced).await.verdict, TrialVerdict::Fail);
}

#[tokio::test]
async fn what_cannot_be_evaluated_is_undecided() {
    let text = report(&rule(SIZED, r#"{"size": "large"}"#)).await;
    assert_eq!((text.verdict, &text.value), (TrialVerdict::Undecided, &None));
    assert!(text.errors[0].message.contains("does not take a string and an integer"), "{text:?}");
    let nameless = SIZED.replace("string(self.size)", "self.name");
    let failed = report(&rule(&nameless, r#"{"size": 0}"#)).await;
    assert_eq!(failed.verdict, TrialVerdict::Fail);
    assert_eq!(failed.message.as_deref(), Some("the rule `sized` is not met"));
    assert!(failed.errors[0].message.starts_with("the message cannot be computed: `self.name`"));
}

#[tokio::test]
async fn an_expression_has_the_verdict_that_its_value_is() {
    for (source, verdict, value) in [
        ("self.size > 1", TrialVerdict::Pass, "true"),
        ("self.size > 2", TrialVerdict::Fail, "false"),
        ("self.size * 2", TrialVerdict::Undecided, "4"),
        ("old == null", TrialVerdict::Pass, "true"),
        ("today", TrialVerdict::Undecided, "\"2026-06-30\""),
        ("self.id", TrialVerdict::Undecided, "\"01900000-0000-7000-8000-000000000000\""),
    ] {
        let report = report(&expression(source, r#"{"size": 2, "_links": {}}"#)).await;
        assert_eq!(report.verdict, verdict, "{source}");
        assert_eq!(report.value.map(|value| value.json).as_deref(), Some(value), "{source}");
        assert_eq!(report.errors, [], "{source}");
    }
    let without = RuleTrial { after: None, ..expression("1 + 1 == 2", "{}") };
    assert_eq!(report(&without).await.verdict, TrialVerdict::Pass);
}

#[tokio::test]
async fn errors_of_a_source_have_their_place() {
    let unknown = report(&expression("1 == 1 &&\n  slef.a == 1", "{}")).await;
    let message = "there is no variable `slef`; did you mean `self`?";
    assert_eq!(unknown.verdict, TrialVerdict::Undecided);
    assert_eq!(errors(&unknown), [format!(" 2:3 {message}")]);
    let in_yaml = report(&rule(&SIZED.replace("self.size >", "slef.size >"), "{}")).await;
    assert_eq!(errors(&in_yaml), [format!(" 5:8 {message}")]);
    let json = r#"{"id":"a","group":"files","check":"true ||\n slef.a","message":"m","lookup":{"x":"files[1 +]"}}"#;
    let in_json = report(&trial(TrialSubject::Json(json.to_owned()), "{}")).await;
    let in_json = errors(&in_json);
    assert_eq!(in_json.len(), 2);
    assert!(in_json[0].starts_with("/check 2:2 ") && in_json[1].starts_with("/lookup/x 1:10 "));
    let other = report(&rule(&SIZED.replace("files", "lib"), "{}")).await;
    let other = &errors(&other)[0];
    assert!(other.starts_with(" 3:8 "), "{other}");
    assert!(other.contains("is for `lib`, but the item is of `files`"), "{other}");
    for source in ["", "# nothing", "text", "[]", "- a: 1\n- b: 2", "rules: []", "{", "id: &a [*a]"]
    {
        let report = report(&rule(source, "{}")).await;
        assert_eq!(report.verdict, TrialVerdict::Undecided, "{source}");
        assert!(!report.errors.is_empty(), "{source}");
    }
    let alone = SIZED.replace('\n', "\n  ");
    for source in [format!("- {}", alone.trim()), format!("rules:\n- {}", alone.trim())] {
        assert_eq!(report(&rule(&source, "{}")).await.errors, [], "{source}");
    }
}

#[tokio::test]
async fn errors_of_an_evaluation_point_to_its_key() {
    let rule = |more: &str| {
        TrialSubject::Json(format!(r#"{{"id":"a","group":"files",{more},"message":"m"}}"#))
    };
    let looking = r#""lookup":{"x":"files[parent_id = self.a]"},"check":"size(x) == 1""#;
    let many = |count| vec![("x".to_owned(), TrialLookup::Many(vec![members("{}"); count]))];
    let computed = r#"{"id":"a","group":"files","check":"false","message_expression":"self.b"}"#;
    for (subject, lookups, pointer) in [
        (rule(r#""when":"self.b","check":"true""#), vec![], "/when"),
        (rule(r#""check":"self.b""#), vec![], "/check"),
        (TrialSubject::Json(computed.to_owned()), vec![], "/message_expression"),
        (rule(looking), vec![], "/lookup/x"),
        (rule(looking), many(1_001), "/when"),
        (rule(&looking.replace("self.a", "self.b")), many(1), "/lookup"),
        (rule(&format!(r#""when":"self.b",{looking}"#)), vec![], "/lookup"),
        (rule(&format!(r#""when":"size(x) == self.b",{looking}"#)), vec![], "/lookup/x"),
        (rule(&format!(r#""when":"size(x) == self.b",{looking}"#)), many(1), "/when"),
        (rule(&looking.replace("== 1", "== self.b")), many(1), "/check"),
    ] {
        let trial = RuleTrial { lookups, ..trial(subject, r#"{"a": "1"}"#) };
        let report = report(&trial).await;
        let pointers: Vec<_> =
            report.errors.iter().map(|error| error.pointer.to_string()).collect();
        assert_eq!(pointers, [pointer], "{trial:?}: {report:?}");
    }
    // A guard that is evaluated before the lookups is traced once.
    let guarded = rule(&format!(r#""when":"has(self.a)",{looking}"#));
    let trial = RuleTrial { lookups: many(1), ..trial(guarded, r#"{"a": "1"}"#) };
    let report = report(&trial).await;
    let expected = ["has(self.a)", "self.a", "x", "size(x)", "size(x) == 1"];
    assert_eq!(sources(&report), expected, "{report:?}");
}

const LOOKING: &str = "
id: looking
group: files
when: has(self.proposal_id)
lookup:
  proposal: proposals[self.proposal_id]
  others: files[proposal_id = self.proposal_id]
check: proposal != null && size(others) < 2
message: m
";

const OF_PROPOSAL: &str = r#"{"proposal_id": "019a9a9a-0000-7000-8000-000000000001"}"#;

#[tokio::test]
async fn lookups_find_what_is_given_and_nothing_else() {
    let given = |proposal, others: &[&str]| {
        let others = others.iter().map(|json| members(json)).collect();
        RuleTrial {
            lookups: vec![
                ("proposal".to_owned(), TrialLookup::One(proposal)),
                ("others".to_owned(), TrialLookup::Many(others)),
            ],
            ..rule(LOOKING, OF_PROPOSAL)
        }
    };
    let passed = report(&given(Some(members("{}")), &["{}"])).await;
    assert_eq!(passed.verdict, TrialVerdict::Pass, "{passed:?}");
    assert_eq!(report(&given(None, &[])).await.verdict, TrialVerdict::Fail);
    let many = report(&given(Some(members("{}")), &["{}"; 1_001])).await;
    assert_eq!(many.errors[0].message, "the lookup `others` found more than 1000 items");
    let none = rule(LOOKING, OF_PROPOSAL);
    let unknown = report(&none).await;
    assert_eq!(unknown.verdict, TrialVerdict::Undecided);
    assert_eq!(unknown.errors.len(), 2);
    let message = &unknown.errors[1].message;
    assert!(message.starts_with("the trial has no result for the lookup `others`"), "{message}");
    let guarded = report(&RuleTrial { after: Some(members("{}")), ..none }).await;
    assert_eq!((guarded.verdict, guarded.errors), (TrialVerdict::Pass, Vec::new()));
}

const CHAIN: &str = "
id: chained
group: gadscores
when: has(self.program_id)
lookup:
  program: proposedprograms[self.program_id]
  own: files[self.program_id]
  led: 'statuses[many = program.leader]'
check: program != null && own == null && size(led) == 4
message: m
";

#[tokio::test]
async fn lookups_find_stored_items_unless_their_results_are_given() {
    let given = |lookups: Vec<(&str, TrialLookup)>| RuleTrial {
        collection: Collection::known("gadscores"),
        lookups: lookups.into_iter().map(|(name, found)| (name.to_owned(), found)).collect(),
        looks_up_stored: true,
        ..rule(CHAIN, r#"{"program_id": "019a9a9a-0000-7000-8000-000000000001"}"#)
    };
    let one = |json: &str| TrialLookup::One(Some(members(json)));
    let none = || ("own", TrialLookup::One(None));
    let forbidden = report(&given(Vec::new())).await;
    let message = "you may not read the items of the lookup `own`; add `own` to `lookup`";
    assert_eq!(
        (forbidden.verdict, &*forbidden.errors[0].message),
        (TrialVerdict::Undecided, message)
    );
    assert_eq!(report(&given(vec![none()])).await.verdict, TrialVerdict::Pass);
    for other in [("program", one(r#"{"leader": "M"}"#)), ("led", TrialLookup::Many(Vec::new()))] {
        assert_eq!(report(&given(vec![none(), other])).await.verdict, TrialVerdict::Fail);
    }
    // An empty result ends the chain.
    let ended = report(&given(vec![none(), ("program", TrialLookup::One(None))])).await;
    assert_eq!((ended.verdict, ended.errors), (TrialVerdict::Fail, Vec::new()));
    let guarded = report(&RuleTrial { after: Some(members("{}")), ..given(Vec::new()) }).await;
    assert_eq!(guarded.skipped.as_deref(), Some("`when` is false"));
    let unknown = report(&RuleTrial { looks_up_stored: false, ..given(Vec::new()) }).await;
    assert_eq!(unknown.errors.len(), 3, "{unknown:?}");
}

/// Runs the case that is made of a trial, in a file with the rule.
fn run_case(rule: &str, case: &str) -> application::CaseReport {
    let indented = |text: &str| text.trim().replace('\n', "\n  ");
    let text = format!("rules:\n- {}\ncases:\n{case}", indented(rule));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yaml");
    std::fs::write(&path, &text).expect("a file");
    let rules = RuleSet::load(&path, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    rules.run_cases().remove(0)
}

#[tokio::test]
async fn a_trial_becomes_a_case_with_the_same_verdict() {
    let chained = r#"{"id": "019a9a9a-0000-7000-8000-000000000003", "program_id": "019a9a9a-0000-7000-8000-000000000001"}"#;
    let kept = "id: kept\ngroup: files\non: [delete]\ncheck: old.a == self.a && caller.id == 'ann' && now > timestamp('2026-01-01T00:00:00Z')\nmessage: m";
    let none = || vec![("own".to_owned(), TrialLookup::One(None))];
    for (source, item, before, lookups) in [
        (SIZED, r#"{"size": 1}"#, None, Vec::new()),
        (
            SIZED,
            r#"{"size": 0, "a b": {"c": [1.50, "x: # y"]}, "null": null, "é": "\u007f\n"}"#,
            None,
            Vec::new(),
        ),
        (SIZED, r#"{"size": "large"}"#, None, Vec::new()),
        (SIZED, "{}", Some("{}"), Vec::new()),
        (CHAIN, chained, None, none()),
        (
            CHAIN,
            chained,
            Some(r#"{"old": 1}"#),
            [none(), vec![("led".to_owned(), TrialLookup::Many(Vec::new()))]].concat(),
        ),
        (CHAIN, "{}", None, none()),
        (kept, r#"{"a": 1}"#, None, Vec::new()),
    ] {
        let collection = if source == CHAIN { "gadscores" } else { "files" };
        let trial = RuleTrial {
            collection: Collection::known(collection),
            before: before.map(members),
            lookups,
            looks_up_stored: true,
            makes_case: true,
            ..rule(source, item)
        };
        let report = report(&trial).await;
        let case = report.case.as_deref().unwrap_or_else(|| panic!("{report:?}"));
        let run = run_case(source, case);
        assert!(run.passed, "{}\n{case}", run.line);
        let verdict = if report.verdict == TrialVerdict::Pass { "pass" } else { "fail" };
        assert!(case.ends_with(&format!("\n  expect: {verdict}\n")), "{case}");
    }
}

#[tokio::test]
async fn a_case_is_readable_and_bounded() {
    let item = r#"{"id": "019a9a9a-0000-7000-8000-000000000003", "size": 0.10, "tags": ["a"]}"#;
    let trial = |item: &str| RuleTrial { makes_case: true, ..rule(SIZED, item) };
    let lines = [
        "- rule: sized",
        "  name: a trial of 2026-06-30",
        "  self:",
        "    id: 019a9a9a-0000-7000-8000-000000000003",
        "    \"size\": 0.10",
        "    \"tags\": [\"a\"]",
        "  today: 2026-06-30",
        "  expect: pass\n",
    ];
    assert_eq!(report(&trial(item)).await.case, Some(lines.join("\n")));
    let large = format!(r#"{{"size": 1, "text": "{}"}}"#, "x".repeat(256 << 10));
    assert_eq!(report(&trial(&large)).await.case, None);
    assert_eq!(report(&rule(SIZED, item)).await.case, None);
    // Results of lookups are missing, and an expression is no rule.
    for trial in [rule(LOOKING, OF_PROPOSAL), expression("true", "{}"), rule("id: a", "{}")] {
        assert_eq!(report(&RuleTrial { makes_case: true, ..trial }).await.case, None);
    }
}

#[tokio::test]
async fn every_character_can_be_in_a_case() {
    let all: Vec<_> =
        (0..=0x1_1000).chain([0x1_ffff, 0x10_ffff]).filter_map(char::from_u32).collect();
    for part in all.chunks(500) {
        let text = domain::json::encode_string(&part.iter().collect::<String>());
        let item = format!("{{{text}: [{text}], \"size\": {}}}", part.len());
        let rule = SIZED.replace(
            "self.size > 0",
            "self.exists(name, size(name) == self.size && self[name][0] == name)",
        );
        let trial = RuleTrial { makes_case: true, ..self::rule(&rule, &item) };
        let case = report(&trial).await.case.expect("a case");
        let run = run_case(&rule, &case);
        assert!(run.passed && case.ends_with("expect: pass\n"), "{}", run.line);
    }
}

#[tokio::test]
async fn an_expression_alone_has_the_lookups_that_are_given() {
    let lookups = vec![
        ("program".to_owned(), TrialLookup::One(Some(members(r#"{"open": true}"#)))),
        ("rows".to_owned(), TrialLookup::Many(vec![members(r#"{"n": 1}"#)])),
    ];
    let source = "program.open && rows.all(row, row.n == 1)";
    let known = RuleTrial { lookups, ..expression(source, "{}") };
    assert_eq!(report(&known).await.verdict, TrialVerdict::Pass);
}

#[tokio::test]
async fn a_report_is_small_however_large_the_source_is() {
    let long = report(&rule(&"x".repeat(200_000), "{}")).await;
    assert!(errors(&long)[0].contains("a rule may have at most 131072 bytes, not 200000"));
    let many = report(&rule(&format!("id: a\n{}", "x: 1\n".repeat(10_000)), "{}")).await;
    assert_eq!(many.errors.len(), 100);
    let item = format!(r#"{{"rows": [{}0]}}"#, "1,".repeat(1_000));
    assert_eq!(report(&expression("self.rows.map(a, a + 1)", &item)).await.trace.len(), 200);
}
