//! `POST /rules/try`: what a rule, or an expression alone, says of an item.

use serde_json::{Value, json};
use tests::{Answer, Service, Store};

use crate::rules::{RuleFile, one, text};

const TRY: &str = "/rules/try";

fn service() -> Service {
    Service::start(Store::Sqlite)
}

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

#[test]
fn a_rule_is_tried_as_json_and_as_yaml() {
    let service = service();
    let yaml = "id: amount_positive\ngroup: cashprogram\nwhen: has(self.amount)\ncheck: decimal(self.amount) > decimal('0')\nmessage_expression: \"'it is ' + string(self.amount)\"\n";
    for rule in [positive(), json!(yaml)] {
        let trial = |item: Value| json!({ "rule": rule, "group": "cashprogram", "self": item });
        let failed = outcome(&service, &trial(json!({ "amount": 0.00 })));
        assert_eq!(
            [&failed["verdict"], &failed["value"], &failed["message"], &failed["errors"]],
            [&json!("fail"), &json!(false), &json!("it is 0"), &json!([])],
            "{failed}"
        );
        let passed = outcome(&service, &trial(json!({ "amount": "0.01" })));
        assert_eq!((&passed["verdict"], &passed["message"]), (&json!("pass"), &Value::Null));
        let skipped = outcome(&service, &trial(json!({})));
        assert_eq!(
            [&skipped["verdict"], &skipped["skipped"], &skipped["value"]],
            [&json!("pass"), &json!("`when` is false"), &Value::Null]
        );
    }
    let listed = service.get("/rules").send().expect(200);
    assert!(!listed.text().contains("amount_positive"), "nothing is put in force");
}

#[test]
fn an_expression_shows_the_value_of_each_part_that_was_evaluated() {
    let service = service();
    let body = json!({
        "expression": "has(self.budget) && (self.budget + 1) * 2 > 10 || self.never", "group": "files",
        "self": { "budget": 4.50 },
    });
    let shown = outcome(&service, &body);
    assert_eq!(shown["verdict"], "pass");
    let parts: Vec<_> = shown["trace"].as_array().expect("a trace").iter().collect();
    let parts: Vec<_> =
        parts.iter().map(|part| (text(&part["expression"]), part["value"].clone())).collect();
    assert_eq!(
        parts,
        [
            ("has(self.budget)".to_owned(), json!(true)),
            ("self.budget".to_owned(), json!(4.5)),
            ("self.budget + 1".to_owned(), json!(5.5)),
            ("(self.budget + 1) * 2".to_owned(), json!(11.0)),
            ("(self.budget + 1) * 2 > 10".to_owned(), json!(true)),
            ("has(self.budget) && (self.budget + 1) * 2 > 10".to_owned(), json!(true)),
            (
                "has(self.budget) && (self.budget + 1) * 2 > 10 || self.never".to_owned(),
                json!(true)
            ),
        ]
    );
    let digits = r#"{"expression":"decimal(self.n) + 1","group":"files","self":{"n":123456789012345678.10}}"#;
    let answer = service.post(TRY).json(digits).send().expect(200);
    assert!(answer.text().contains(r#""value":123456789012345679.10,"#), "{answer}");
    assert_eq!(answer.value()["verdict"], "undecided");
}

#[test]
fn a_day_is_that_of_the_trial_and_the_clocks_without_one() {
    let service = service();
    let body = json!({ "expression": "today == '2031-05-06' && now == timestamp('2031-05-06T00:00:00Z')",
        "group": "files", "today": "2031-05-06" });
    assert_eq!(outcome(&service, &body)["verdict"], "pass");
    let own = json!({ "expression": "today > '2020-01-01' && date(now) > '2020-01-01'", "group": "files" });
    assert_eq!(outcome(&service, &own)["verdict"], "pass");
}

#[test]
fn an_error_of_what_is_tried_says_where_it_is() {
    let service = service();
    let cases = [
        (json!({ "expression": "true &&\n slef.a" }), "/expression", json!([2, 2])),
        (json!({ "expression": "1 +" }), "/expression", json!([1, 4])),
        (
            json!({ "rule": "id: a\ngroup: files\ncheck: slef.a\nmessage: m" }),
            "/rule",
            json!([3, 8]),
        ),
        (
            json!({ "rule": { "id": "a", "group": "files", "check": "'é' == slef", "message": "m" } }),
            "/rule/check",
            json!([1, 8]),
        ),
        (
            json!({ "rule": { "id": "a", "group": "file", "check": "true", "message": "m" } }),
            "/rule/group",
            json!([null, null]),
        ),
        (
            json!({ "rule": { "id": "a", "group": "files", "check": "true" } }),
            "/rule",
            json!([null, null]),
        ),
        (json!({ "expression": "self.a > 1", "self": {} }), "/expression", json!([null, null])),
    ];
    for (mut body, pointer, place) in cases {
        body["group"] = json!("files");
        let shown = outcome(&service, &body);
        assert_eq!(
            (&shown["verdict"], &shown["value"]),
            (&json!("undecided"), &Value::Null),
            "{body}"
        );
        let error = &shown["errors"][0];
        assert_eq!(error["pointer"], pointer, "{body} {error}");
        assert_eq!(json!([error["line"], error["column"]]), place, "{body} {error}");
        assert!(!text(&error["message"]).is_empty());
    }
}

/// The example of `docs/rules.md`.
#[test]
fn the_example_of_the_page_is_answered_as_it_says() {
    let page = include_str!("../../../docs/rules.md");
    let block = |name: &str| -> Value {
        let block = page.split("```").find_map(|block| block.strip_prefix(name));
        serde_json::from_str(block.expect("the example")).expect("JSON")
    };
    assert_eq!(outcome(&service(), &block("json request")), block("json response"));
}

const LOOKING: &str = "
id: programme_open
group: proposals
lookup: {program: 'proposedprograms[self.program_id]'}
check: program != null && program.open
message: The programme takes no proposals.
";

/// The store holds what the rule looks up; a trial knows what it is given.
#[test]
fn a_trial_looks_nothing_up() {
    let service = service();
    let program = service.create("/v1/proposedprograms", r#"{"open":true}"#);
    let mut body =
        json!({ "rule": LOOKING, "group": "proposals", "self": { "program_id": program.id } });
    let unknown = outcome(&service, &body);
    assert_eq!(unknown["verdict"], "undecided");
    assert!(
        text(&unknown["errors"][0]["message"]).contains("add `program` to `lookup`"),
        "{unknown}"
    );
    for (found, verdict) in [
        (json!({ "open": true }), "pass"),
        (json!({ "open": false }), "fail"),
        (Value::Null, "fail"),
    ] {
        body["lookup"] = json!({ "program": found });
        assert_eq!(outcome(&service, &body)["verdict"], verdict, "{body}");
    }
    body["lookup"] = json!({ "progam": null });
    assert_eq!(refusals(&service, &body), one("unknown_member", "/lookup/progam"));
    body["lookup"] = json!({ "program": [] });
    assert_eq!(refusals(&service, &body), one("wrong_type", "/lookup/program"));
}

#[test]
fn a_request_that_is_no_trial_is_refused() {
    let service = service();
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
        (expression("lookup", json!({ "self": null })), "invalid_name", "/lookup/self"),
        (expression("slef", json!({})), "unknown_member", "/slef"),
    ] {
        assert_eq!(refusals(&service, &body), one(code, pointer), "{body}");
    }
    let unknown = send(&service, &expression("group", json!("file"))).expect(422).value();
    assert!(text(&unknown["errors"][0]["detail"]).contains("did you mean `files`?"), "{unknown}");
    let whole = json!({ "expression": "true", "group": "files", "old": null, "lookup": {} });
    assert_eq!(outcome(&service, &whole)["verdict"], "pass");
}

#[test]
fn the_path_answers_as_others_do() {
    let service = service();
    let body = r#"{"expression":"true","group":"files"}"#;
    for accept in ["application/json", "application/hal+json"] {
        let answer = service.post(TRY).accept(accept).json(body).send().expect(200);
        answer.of_type(accept).allowing(&["POST", "OPTIONS"]);
    }
    service.post(TRY).accept("text/html").json(body).send().expect(406);
    service.post(TRY).untyped_body(body).send().expect(415);
    service.post(TRY).body("text/yaml", body).send().expect(415);
    service.post(TRY).json(body).header("content-encoding", "gzip").send().expect(415);
    service.post(TRY).json("{").send().expect(400);
    service.post(TRY).json("").send().expect(400);
    service.post(TRY).json("[]").send().expect(400);
    service.post(TRY).json(format!("{body} ")).send().expect(200);
    service.post(&format!("{TRY}?a=1")).json(body).send().expect(400);
    service.post(TRY).json(vec![b' '; 9 << 20]).send().expect(413);
    for method in ["GET", "PUT", "DELETE"] {
        service.request(method, TRY).send().expect(405).allowing(&["POST", "OPTIONS"]);
    }
    service.request("OPTIONS", TRY).send().expect(204).allowing(&["POST", "OPTIONS"]);
}

/// Its page would be where rules are tried.
#[test]
fn no_rule_is_called_try() {
    let file = RuleFile::new("rules: [{id: try, group: files, check: 'true', message: m}]");
    let output = std::process::Command::new(tests::binary::path())
        .args(["rules", "check", file.arguments()[1]])
        .output()
        .expect("the binary runs");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("uses the id `try` itself"), "{said}");
}

/// Bodies that ask for much: each has an answer, the service lives, and takes little memory.
#[test]
fn hostile_trials_take_little() {
    let service = service();
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
        "self.rows.map(a, self)".to_owned(),
        "self.rows.map(a, self.rows.map(b, self.big))".to_owned(),
        "self.rows.all(a, self.big.matches('x$') || true)".to_owned(),
        "'a'.matches('(a{1000}){1000}')".to_owned(),
        vec!["'a'.matches('[ab]*a[ab]{6}')"; 400].join("||"),
        "1".to_owned() + &"+1".repeat(8_000),
        "x".repeat(1 << 20),
    ] {
        let body = json!({ "expression": source, "group": "files", "self": item });
        let answer = send(&service, &body).expect(200);
        assert!(answer.body.len() < 500_000, "{}", answer.body.len());
    }
    for rule in [json!(nested("[", "]", 20_000)), json!("a: &a [*a]"), json!("- ".repeat(100_000))]
    {
        let body = json!({ "rule": rule, "group": "files" });
        assert_eq!(outcome(&service, &body)["verdict"], "undecided");
    }
    let deep =
        format!(r#"{{"expression":"true","group":"files","self":{}}}"#, nested("[", "]", 500));
    service.post(TRY).json(deep).send().expect(400);
    let deep = format!(
        r#"{{"expression":"true","group":"files","self":{{"a":{}}}}}"#,
        nested("[", "]", 128)
    );
    service.post(TRY).json(deep).send().expect(400);
    let many = format!(
        r#"{{"expression":"size(all) > 0","group":"files","lookup":{{"all":[{}{{}}]}}}}"#,
        "{},".repeat(2_000_000)
    );
    let shown = service.post(TRY).json(many).send().expect(200).value();
    assert!(text(&shown["errors"][0]["message"]).contains("more than 1000 items"), "{shown}");
    assert!(service.peak_memory() < 300 << 20, "{} MiB", service.peak_memory() >> 20);
    service.get("/healthz").send().expect(200);
}
