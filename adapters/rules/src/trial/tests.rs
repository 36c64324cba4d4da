use application::{
    RuleTrial, RuleTrials as _, TrialLookup, TrialReport, TrialSubject, TrialVerdict,
};
use domain::{Collection, Members, Violations, WriteContext, WriteOperation};
use jiff::civil::date;

use super::Trials;

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
    }
}

fn expression(source: &str, item: &str) -> RuleTrial {
    trial(TrialSubject::Expression(source.to_owned()), item)
}

fn rule(source: &str, item: &str) -> RuleTrial {
    trial(TrialSubject::Yaml(source.to_owned()), item)
}

async fn run(trial: &RuleTrial) -> Result<TrialReport, Violations> {
    let context =
        WriteContext { today: date(2026, 6, 30), ..WriteContext::any(WriteOperation::Create) };
    Trials.run(trial, context).await
}

async fn report(trial: &RuleTrial) -> TrialReport {
    run(trial).await.unwrap_or_else(|violations| panic!("{violations:?}"))
}

/// The errors, each as `POINTER LINE:COLUMN MESSAGE`, as far as it has them.
fn errors(report: &TrialReport) -> Vec<String> {
    let of = |error: &application::TrialError| {
        let place = error.place.map(|(line, column)| format!("{line}:{column}"));
        format!("{} {} {}", error.pointer, place.unwrap_or_default(), error.message)
    };
    report.errors.iter().map(of).collect()
}

/// The violations of a refusal, each as `POINTER CODE`.
async fn refusals(trial: &RuleTrial) -> Vec<String> {
    let violations = run(trial).await.expect_err("a refusal");
    violations.iter().map(|found| format!("{} {}", found.pointer, found.code)).collect()
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
    let needed = RuleTrial { after: None, ..expression("has(self.size)", "{}") };
    assert_eq!(refusals(&needed).await, ["/self required"]);
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

/// An error of an evaluation points to the key whose expression it was.
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
    assert_eq!(
        sources(&report),
        ["has(self.a)", "self.a", "x", "size(x)", "size(x) == 1"],
        "{report:?}"
    );
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
    let guarded = report(&RuleTrial { after: Some(members("{}")), ..none.clone() }).await;
    assert_eq!((guarded.verdict, guarded.errors), (TrialVerdict::Pass, Vec::new()));
    let misfit = RuleTrial {
        lookups: vec![
            ("proposal".to_owned(), TrialLookup::Many(Vec::new())),
            ("other".to_owned(), TrialLookup::One(None)),
            ("others".to_owned(), TrialLookup::Many(vec![members(r#"{"id": "x"}"#)])),
        ],
        ..none
    };
    assert_eq!(
        refusals(&misfit).await,
        [
            "/lookup/other unknown_member",
            "/lookup/proposal wrong_type",
            "/lookup/others/0/id invalid_id"
        ]
    );
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
    let named = RuleTrial {
        lookups: vec![("self".to_owned(), TrialLookup::One(None))],
        ..expression("true", "{}")
    };
    assert_eq!(refusals(&named).await, ["/lookup/self invalid_name"]);
}

/// Sources that nest, continue or repeat without end: each has a report, and a small one.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hostile_sources_have_a_small_report() {
    let item =
        format!(r#"{{"big": "{}", "rows": [{}0]}}"#, "ab".repeat(50_000), "1,".repeat(20_000));
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for source in [
        nested("(", "1", ")", 8_000),
        nested("[", "", "]", 60),
        nested("[1].map(x, ", "self.rows", ")", 30),
        nested("!(", "true", ")", 50),
        "self.rows.map(a, self.rows.map(b, self))".to_owned(),
        "self.rows.all(a, self.big.matches('x$') || true)".to_owned(),
        "self.rows.map(a, self)".to_owned(),
        "self.rows.map(a, self.big + self.big)".to_owned(),
        "self.big.matches('(a{1000}){1000}')".to_owned(),
        "self.big.matches('(((((')".to_owned(),
        "[self, self, self.rows, self.big]".to_owned(),
        vec!["self.big"; 1_000].join(" + "),
        vec!["'a'.matches('\\\\w{50}')"; 400].join(" || "),
        format!("'{}'", "x".repeat(20_000)),
        "\u{0}".repeat(100),
    ] {
        let report = report(&expression(&source, &item)).await;
        let start: String = source.chars().take(40).collect();
        let entries = report.trace.iter().map(|entry| {
            let outcome = entry.outcome.as_ref().map_or(0, |value| value.json.len());
            entry.expression.len() + outcome
        });
        let size = entries.sum::<usize>() + report.value.map_or(0, |value| value.json.len());
        assert!(size < 500_000, "{start}: {size}");
        assert!(report.trace.len() <= 200 && report.errors.len() <= 100, "{start}");
        assert!(report.errors.iter().all(|error| error.message.len() < 2_000), "{start}");
    }
    let rules = [
        nested("[", "", "]", 5_000),
        nested("{a: ", "1", "}", 5_000),
        "- ".repeat(10_000),
        format!("id: a\n{}", "x: 1\n".repeat(10_000)),
        "a: &a [*b]\nb: &b [*a]".to_owned(),
        format!(
            "x0: &x0 [1]\n{}",
            (1..60).fold(String::new(), |text, n| {
                format!("{text}x{n}: &x{n} [*x{0}, *x{0}, *x{0}]\n", n - 1)
            })
        ),
        "x".repeat(200_000),
    ];
    for source in rules {
        let report = report(&rule(&source, "{}")).await;
        assert_eq!(report.verdict, TrialVerdict::Undecided);
        assert!((1..=100).contains(&report.errors.len()));
    }
}
