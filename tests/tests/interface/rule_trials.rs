//! `POST /rules/try`: the outcome of a rule, or of an expression alone, for an item.

use serde_json::{Value, json};
use tests::tool::refused;
use tests::{Answer, Service, Store};

use crate::rules::{RuleFile, one, text};

const TRY: &str = "/rules/try";

fn send(service: &Service, body: &Value) -> Answer {
    service.post(TRY).json(body.to_string()).send()
}

/// The outcome of a trial.
fn outcome(service: &Service, body: &Value) -> Value {
    send(service, body).expect(200).value()
}

/// The code and the pointer of each error of a request that is no trial.
fn refusals(service: &Service, body: &Value) -> Vec<(String, String)> {
    crate::rules::errors(&send(service, body).expect(422))
}

fn positive() -> Value {
    json!({
        "id": "amount_positive", "group": "cashprogram", "when": "has(self.amount)",
        "check": "decimal(self.amount) > decimal('0')",
        "message_expression": "'it is ' + string(self.amount)",
    })
}

tests::cases![
    a_rule_is_tried_as_json_and_as_yaml,
    an_expression_shows_the_value_of_each_evaluated_part,
    the_day_is_that_of_the_trial_or_of_the_clock,
    an_error_has_its_place_in_the_rule,
    the_example_of_the_page_has_its_response,
    a_trial_reads_no_item_unless_it_says_so,
    a_chain_of_lookups_finds_stored_items,
    a_trial_becomes_a_case,
    an_invalid_trial_is_refused,
    the_path_answers_as_others_do,
];

/// Asserts members of the outcome of a trial.
#[track_caller]
fn has(outcome: &Value, members: &Value) {
    for (name, value) in members.as_object().expect("members") {
        assert_eq!(outcome[name], *value, "{name} of {outcome}");
    }
}

fn a_rule_is_tried_as_json_and_as_yaml(service: &Service) {
    let yaml = "id: amount_positive\ngroup: cashprogram\nwhen: has(self.amount)\ncheck: decimal(self.amount) > decimal('0')\nmessage_expression: \"'it is ' + string(self.amount)\"\n";
    for rule in [positive(), json!(yaml)] {
        for (item, expected) in [
            (
                json!({ "amount": 0.00 }),
                json!({ "verdict": "fail", "value": false, "message": "it is 0", "errors": [] }),
            ),
            (json!({ "amount": "0.01" }), json!({ "verdict": "pass", "message": null })),
            (json!({}), json!({ "verdict": "pass", "skipped": "`when` is false", "value": null })),
        ] {
            let trial = json!({ "rule": rule, "group": "cashprogram", "self": item });
            has(&outcome(service, &trial), &expected);
        }
    }
    let listed = service.read("/rules");
    assert!(!listed.text().contains("amount_positive"), "no rule is put in force");
}

fn an_expression_shows_the_value_of_each_evaluated_part(service: &Service) {
    let body = json!({
        "expression": "has(self.budget) && (self.budget + 1) * 2 > 10 || self.never", "group": "files",
        "self": { "budget": 4.50 },
    });
    let shown = outcome(service, &body);
    has(&shown, &json!({ "verdict": "pass" }));
    let parts = shown["trace"].as_array().expect("a trace").iter();
    let parts: Vec<_> =
        parts.map(|part| format!("{} → {}", text(&part["expression"]), part["value"])).collect();
    let expected = [
        "has(self.budget) → true",
        "self.budget → 4.5",
        "self.budget + 1 → 5.5",
        "(self.budget + 1) * 2 → 11.0",
        "(self.budget + 1) * 2 > 10 → true",
        "has(self.budget) && (self.budget + 1) * 2 > 10 → true",
        "has(self.budget) && (self.budget + 1) * 2 > 10 || self.never → true",
    ];
    assert_eq!(parts, expected);
    let digits = r#"{"expression":"decimal(self.n) + 1","group":"files","self":{"n":123456789012345678.10}}"#;
    let answer = service.post(TRY).json(digits).expect(200);
    assert!(answer.text().contains(r#""value":123456789012345679.10,"#), "{answer}");
    assert_eq!(answer.value()["verdict"], "undecided");
}

fn the_day_is_that_of_the_trial_or_of_the_clock(service: &Service) {
    let body = json!({ "expression": "today == '2031-05-06' && now == timestamp('2031-05-06T00:00:00Z')",
        "group": "files", "today": "2031-05-06" });
    assert_eq!(outcome(service, &body)["verdict"], "pass");
    let own = json!({ "expression": "today > '2020-01-01' && date(now) > '2020-01-01'", "group": "files" });
    assert_eq!(outcome(service, &own)["verdict"], "pass");
}

fn an_error_has_its_place_in_the_rule(service: &Service) {
    let rule = |group: &str, check: &str| json!({ "rule": { "id": "a", "group": group, "check": check, "message": "m" } });
    let yaml = json!({ "rule": "id: a\ngroup: files\ncheck: slef.a\nmessage: m" });
    let expression = |source: &str| json!({ "expression": source });
    for (mut body, pointer, line, column) in [
        (expression("true &&\n slef.a"), "/expression", Some(2), Some(2)),
        (expression("1 +"), "/expression", Some(1), Some(4)),
        (yaml, "/rule", Some(3), Some(8)),
        (rule("files", "'é' == slef"), "/rule/check", Some(1), Some(8)),
        (rule("file", "true"), "/rule/group", None, None),
        (json!({ "rule": { "id": "a", "group": "files", "check": "true" } }), "/rule", None, None),
        (json!({ "expression": "self.a > 1", "self": {} }), "/expression", None, None),
    ] {
        body["group"] = json!("files");
        let shown = outcome(service, &body);
        has(&shown, &json!({ "verdict": "undecided", "value": null }));
        let error = &shown["errors"][0];
        has(error, &json!({ "pointer": pointer, "line": line, "column": column }));
        assert!(!text(&error["message"]).is_empty(), "{body}");
    }
}

fn the_example_of_the_page_has_its_response(service: &Service) {
    let page = include_str!("../../../docs/rules.md");
    let block = |name: &str| -> Value {
        let block = page.split("```").find_map(|block| block.strip_prefix(name));
        serde_json::from_str(block.expect("the example")).expect("JSON")
    };
    assert_eq!(outcome(service, &block("json request")), block("json response"));
}

const LOOKING: &str = "
id: programme_open
group: proposals
lookup: {program: 'proposedprograms[self.program_id]'}
check: program != null && program.open
message: The programme takes no proposals.
";

/// The store has the item that the rule looks up. A result in `lookup` takes precedence.
fn a_trial_reads_no_item_unless_it_says_so(service: &Service) {
    let program = service.create("/v1/proposedprograms", r#"{"open":true}"#);
    let mut body =
        json!({ "rule": LOOKING, "group": "proposals", "self": { "program_id": program.id } });
    let unknown = outcome(service, &body);
    has(&unknown, &json!({ "verdict": "undecided" }));
    let message = text(&unknown["errors"][0]["message"]);
    assert!(message.contains("add `program` to `lookup`"), "{unknown}");
    body["lookup_stored"] = json!(true);
    has(&outcome(service, &body), &json!({ "verdict": "pass", "errors": [] }));
    for other in [json!("x"), json!(DEMO_ID)] {
        let mut body = body.clone();
        body["self"]["program_id"] = other;
        has(&outcome(service, &body), &json!({ "verdict": "fail", "errors": [] }));
    }
    let open = |is_open: bool| json!({ "open": is_open });
    for (found, verdict) in [(open(true), "pass"), (open(false), "fail"), (Value::Null, "fail")] {
        body["lookup"] = json!({ "program": found });
        has(&outcome(service, &body), &json!({ "verdict": verdict }));
    }
    body["lookup"] = json!({ "progam": null });
    assert_eq!(refusals(service, &body), one("unknown_member", "/lookup/progam"));
    body["lookup"] = json!({ "program": [] });
    assert_eq!(refusals(service, &body), one("wrong_type", "/lookup/program"));
}

const DEMO_ID: &str = "019a9a9a-0000-7000-8000-00000000000a";

const CHAIN: &str = "
id: few_files
group: files
lookup:
  proposal: proposals[self.proposal_id]
  programme: 'proposedprograms[proposal.program_id]'
  others: files[proposal_id = self.proposal_id]
  led: 'proposedprograms[leader = programme.leader]'
check: programme.title == 'Open' && size(others) < 3 && size(led) == 2
message: m
";

fn a_chain_of_lookups_finds_stored_items(service: &Service) {
    let program = service.create("/v1/proposedprograms", r#"{"title":"Open","leader":7}"#);
    service.create("/v1/proposedprograms", r#"{"leader":"7"}"#);
    service.create("/v1/proposedprograms", r#"{"leader":7.0}"#);
    service.create("/v1/proposedprograms", r#"{"leader":[7]}"#);
    let proposal = json!({"proposal_type": "a", "project_title": "b", "program_id": program.id});
    let proposal = service.create("/v1/proposals", &proposal.to_string());
    let file = json!({ "proposal_id": proposal.id });
    let own = service.create("/v1/files", &file.to_string());
    let mut body = json!({ "rule": CHAIN, "group": "files", "self": file, "lookup_stored": true });
    for (more, verdict) in [(0, "pass"), (1, "pass"), (1, "fail")] {
        for _ in 0..more {
            service.create("/v1/files", &file.to_string());
        }
        has(&outcome(service, &body), &json!({ "verdict": verdict, "errors": [] }));
    }
    // A lookup does not find the item itself.
    body["self"]["id"] = json!(own.id);
    has(&outcome(service, &body), &json!({ "verdict": "pass", "errors": [] }));
    body["lookup"] = json!({ "programme": { "title": "Open", "leader": "none" } });
    has(&outcome(service, &body), &json!({ "verdict": "fail", "errors": [] }));
    // All pages are read, and no more than the limit.
    let many = json!({ "rule": "{id: a, group: files, lookup: {all: 'files[n = self.n]'}, check: size(all) == 120, message: m}",
        "group": "files", "self": { "n": 5 }, "lookup_stored": true });
    for _ in 0..120 {
        service.create("/v1/files", r#"{"n":5}"#);
    }
    has(&outcome(service, &many), &json!({ "verdict": "pass", "errors": [] }));
}

fn a_trial_becomes_a_case(service: &Service) {
    let program = service.create("/v1/proposedprograms", r#"{"open":false}"#);
    let mut body = json!({ "rule": LOOKING, "group": "proposals", "self": { "program_id": program.id },
        "today": "2026-06-30", "lookup_stored": true, "make_case": true });
    let made = outcome(service, &body);
    let expected = format!(
        "- rule: programme_open\n  name: a trial of 2026-06-30\n  self:\n    \"program_id\": \"{0}\"\n  today: 2026-06-30\n  lookup:\n    program:\n      id: {0}\n      \"open\": false\n  expect: fail\n",
        program.id
    );
    has(&made, &json!({ "verdict": "fail", "case": expected }));
    body["lookup_stored"] = json!(false);
    has(&outcome(service, &body), &json!({ "case": null }));
}

fn an_invalid_trial_is_refused(service: &Service) {
    let expression = |name: &str, value: Value| {
        let mut body = json!({ "expression": "has(self.a)", "group": "files", "self": {} });
        body[name] = value;
        body
    };
    for (body, code, pointer) in [
        (json!({ "group": "files" }), "required", "/rule"),
        (expression("rule", positive()), "not_both", "/expression"),
        (json!({ "expression": "true" }), "required", "/group"),
        (json!({ "expression": "has(self.a)", "group": "files" }), "required", "/self"),
        (json!({ "rule": 1, "group": "files" }), "wrong_type", "/rule"),
        (expression("expression", json!(true)), "not_a_string", "/expression"),
        (expression("group", json!(["files"])), "not_a_string", "/group"),
        (expression("group", json!("file")), "unknown_group", "/group"),
        (expression("self", json!([])), "not_an_object", "/self"),
        (expression("self", json!({ "id": "x" })), "invalid_id", "/self/id"),
        (expression("old", json!("x")), "not_an_object", "/old"),
        (expression("today", json!("2026-2-1")), "invalid_date", "/today"),
        (expression("today", json!("2026-02-30")), "invalid_date", "/today"),
        (expression("lookup", json!([])), "not_an_object", "/lookup"),
        (expression("lookup", json!({ "a": [1] })), "not_an_object", "/lookup/a/0"),
        (expression("lookup", json!({ "a": [{ "id": "x" }] })), "invalid_id", "/lookup/a/0/id"),
        (expression("lookup", json!({ "self": null })), "invalid_name", "/lookup/self"),
        (expression("slef", json!({})), "unknown_member", "/slef"),
        (expression("lookup_stored", json!("yes")), "not_a_boolean", "/lookup_stored"),
        (expression("make_case", json!(null)), "not_a_boolean", "/make_case"),
    ] {
        assert_eq!(refusals(service, &body), one(code, pointer), "{body}");
    }
    let unknown = send(service, &expression("group", json!("file"))).expect(422).value();
    assert!(text(&unknown["errors"][0]["detail"]).contains("Did you mean `files`?"), "{unknown}");
    let whole = json!({ "expression": "true", "group": "files", "old": null, "lookup": {} });
    assert_eq!(outcome(service, &whole)["verdict"], "pass");
}

fn the_path_answers_as_others_do(service: &Service) {
    let body = r#"{"expression":"true","group":"files"}"#;
    for accept in ["application/json", "application/hal+json"] {
        let answer = service.post(TRY).accept(accept).json(body).expect(200);
        answer.of_type(accept).allowing(&["POST", "OPTIONS"]);
    }
    let post = || service.post(TRY);
    for (request, status) in [
        (post().accept("text/html").json(body), 406),
        (post().untyped_body(body), 415),
        (post().body("text/yaml", body), 415),
        (post().json(body).header("content-encoding", "gzip"), 415),
        (post().json("{"), 400),
        (post().json(""), 400),
        (post().json("[]"), 400),
        (post().json(format!("{body} ")), 200),
        (service.post(&format!("{TRY}?a=1")).json(body), 400),
        (post().json(vec![b' '; 9 << 20]), 413),
    ] {
        request.expect(status);
    }
    for method in ["GET", "PUT", "DELETE"] {
        service.request(method, TRY).expect(405).allowing(&["POST", "OPTIONS"]);
    }
    service.request("OPTIONS", TRY).expect(204).allowing(&["POST", "OPTIONS"]);
}

/// The page of such a rule would have the path of trials.
#[test]
fn no_rule_is_called_try() {
    let file = RuleFile::new("rules: [{id: try, group: files, check: 'true', message: m}]");
    let error = refused(&["rules", "check", file.arguments()[1]], 1);
    assert!(error.contains("the id `try` is reserved"), "{error}");
}

#[test]
fn hostile_trials_are_answered_and_take_little_memory() {
    let service = &Service::start(Store::Sqlite);
    let big = "ab".repeat(1 << 20);
    let rows = vec![1; 100_000];
    let item = json!({ "big": big, "rows": rows });
    let nested = |open: &str, close: &str, times: usize| {
        format!("{}1{}", open.repeat(times), close.repeat(times))
    };
    for source in [
        nested("(", ")", 8_000),
        nested("[", "]", 8_000),
        nested("[1].map(x, ", ")", 60),
        nested("!(", ")", 50),
        "self.rows.map(a, self)".to_owned(),
        "[self, self, self.rows, self.big]".to_owned(),
        "self.big.matches('(((((')".to_owned(),
        vec!["self.big"; 1_000].join(" + "),
        "self.rows.map(a, self.rows.map(b, self.big))".to_owned(),
        "self.rows.all(a, self.big.matches('x$') || true)".to_owned(),
        "'a'.matches('(a{1000}){1000}')".to_owned(),
        vec!["'a'.matches('[ab]*a[ab]{6}')"; 400].join("||"),
        "1".to_owned() + &"+1".repeat(8_000),
        "x".repeat(1 << 20),
    ] {
        let body = json!({ "expression": source, "group": "files", "self": item });
        let answer = send(service, &body).expect(200);
        assert!(answer.body.len() < 500_000, "{}", answer.body.len());
        let shown = answer.value();
        let lengths = ["trace", "errors"].map(|list| shown[list].as_array().expect("a list").len());
        assert!(lengths[0] <= 200 && lengths[1] <= 100, "{lengths:?}");
    }
    let bomb = |number| format!("x{number}: &x{number} [*x{0}, *x{0}, *x{0}]\n", number - 1);
    for rule in [
        nested("[", "]", 20_000),
        nested("{a: ", "}", 5_000),
        "a: &a [*a]".to_owned(),
        "- ".repeat(100_000),
        format!("id: a\n{}", "x: 1\n".repeat(10_000)),
        format!("x0: &x0 [1]\n{}", (1..60).map(bomb).collect::<String>()),
        "x".repeat(200_000),
    ] {
        let shown = outcome(service, &json!({ "rule": rule, "group": "files" }));
        let errors = shown["errors"].as_array().expect("errors");
        assert!(shown["verdict"] == "undecided" && (1..=100).contains(&errors.len()), "{shown}");
        assert!(shown.to_string().len() < 500_000);
    }
    for item in [nested("[", "]", 500), format!(r#"{{"a":{}}}"#, nested("[", "]", 128))] {
        let deep = format!(r#"{{"expression":"true","group":"files","self":{item}}}"#);
        service.post(TRY).json(deep).expect(400);
    }
    let many = format!(
        r#"{{"expression":"size(all) > 0","group":"files","lookup":{{"all":[{}{{}}]}}}}"#,
        "{},".repeat(2_000_000)
    );
    let shown = service.post(TRY).json(many).expect(200).value();
    assert!(text(&shown["errors"][0]["message"]).contains("more than 1000 items"), "{shown}");
    assert!(service.peak_memory() < 300 << 20, "{} MiB", service.peak_memory() >> 20);
    service.read("/healthz");
}
