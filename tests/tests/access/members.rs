//! Policies about members: a hidden member is absent everywhere, and no write loses it.

use std::thread::scope;

use serde_json::{Value, json};
use tests::Answer;
use tests::event_stream::EventStream;

use crate::world::{World, on_each_store, text_of};

const CALLERS: [(&str, &str); 4] =
    [("staff", "staff"), ("blind", "reviewer"), ("clerk", "clerk"), ("public", "")];

const POLICIES: &str = "
policies:
  - id: staff_all
    group: [proposedprograms, gadscores, statuses, status, proposals, files, lib, cashprogram]
    allow: [read, history, write]
    to: [staff]
  - {id: reviewers, group: [gadscores, status], allow: [read, history, create, update], to: [reviewer]}
  - id: blind
    group: gadscores
    hide: [applicant, /detail/name, /panel/rater, meta.created_by]
    to: [reviewer]
    lookup: {steps: 'status[subject = self.id]'}
    when: '!steps.exists(step, step.to_code == \"decided\")'
  - {id: clerks, group: gadscores, allow: [read, update, create], to: [clerk], write: [rating, /detail/note]}
  - {id: public, group: gadscores, allow: [read], to: [anyone], show: [rating, /detail/mean]}
";

const SHEET: &str = r#"{"rating":"good","applicant":"Zyx","detail":{"mean":1.50,"name":"Canary","note":"a"},"panel":[{"rater":"Canary","mark":3},{"mark":4}]}"#;

/// Each is in hidden members alone.
const CANARIES: [&str; 4] = ["Zyx", "Canary", "psk_staff", "key:staff"];

fn sheet(world: &World) -> (String, String) {
    let id = world.create("staff", "/v1/gadscores", SHEET).id();
    (format!("/v1/gadscores/{id}"), id)
}

/// The members of an item.
fn members(answer: &Answer) -> Value {
    let mut value = answer.value();
    value.as_object_mut().unwrap().retain(|name, _| name != "id" && !name.starts_with('_'));
    value
}

fn pointers(answer: &Answer) -> Vec<String> {
    assert_eq!(
        (answer.status, answer.value()["code"].as_str()),
        (403, Some("members-not-permitted"))
    );
    let errors = answer.value()["errors"].as_array().unwrap().clone();
    errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hidden_member_is_absent_and_kept() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let (path, id) = sheet(&world);
        let seen = |name: &str| members(&world.get(name, &path));
        let blind = json!({"rating": "good", "detail": {"mean": 1.50, "note": "a"}, "panel": [{"mark": 3}, {"mark": 4}]});
        assert_eq!(seen("blind"), blind);
        assert_eq!(seen("anonymous"), json!({"rating": "good", "detail": {"mean": 1.50}}));
        let send = |name: &str, method: &str, body: &Value| {
            world.send(name, world.service.request(method, &path).json(body.to_string()))
        };
        // A replacement keeps hidden members at their places.
        let mut changed = blind.clone();
        changed["rating"] = "bad".into();
        changed["detail"] = json!({"note": "b"});
        let answer = send("blind", "PUT", &changed).expect(200);
        assert_eq!(members(&answer), changed);
        let whole = world.get("staff", &path);
        let kept = r#""rating":"bad","applicant":"Zyx","detail":{"name":"Canary","note":"b"},"panel":[{"rater":"Canary","mark":3},{"mark":4}]"#;
        assert!(whole.text().contains(kept), "{whole}");
        let change = json!({"detail": null, "rating": "good"});
        let answer = send("blind", "PATCH", &change).expect(200);
        assert_eq!(members(&answer), json!({"rating": "good", "panel": blind["panel"]}));
        assert_eq!(seen("staff")["detail"], json!({"name": "Canary"}));
        // A body cannot name a hidden member.
        for (method, body, refused) in [
            ("PATCH", json!({"applicant": null}), &["/applicant"][..]),
            ("PATCH", json!({"detail": {"name": null}, "panel": []}), &["/detail/name", "/panel"]),
            ("PUT", json!({"applicant": "Zyx", "panel": blind["panel"]}), &["/applicant"]),
            ("PATCH", json!({"detail": "text"}), &["/detail"]),
        ] {
            assert_eq!(pointers(&send("blind", method, &body)), refused, "{body}");
        }
        let create = world.service.post("/v1/gadscores").json(SHEET);
        let refused = pointers(&world.send("blind", create));
        assert_eq!(refused, ["/applicant", "/detail/name", "/panel/0/rater"]);
        // Some members can be written.
        send("clerk", "PATCH", &json!({"rating": "fair", "detail": {"note": "c"}})).expect(200);
        let permitted = json!({"rating": "fair", "detail": {"note": "c"}}).to_string();
        world.create("clerk", "/v1/gadscores", &permitted);
        let create = world.service.post("/v1/gadscores").json(SHEET);
        let refused = pointers(&world.send("clerk", create));
        assert_eq!(refused, ["/applicant", "/detail/mean", "/detail/name", "/panel"]);
        let refused =
            send("clerk", "PATCH", &json!({"rating": "x", "detail": {"mean": 2}, "new": 1}));
        assert_eq!(pointers(&refused), ["/detail/mean", "/new"]);
        assert_eq!(
            pointers(&send("clerk", "PUT", &json!({}))),
            ["/applicant", "/detail/name", "/panel"]
        );
        assert_eq!(seen("staff")["detail"], json!({"name": "Canary", "note": "c"}));
        // The step ends the blindness, and the entity tag changes without a write of the item.
        let before = world.get("blind", &path);
        let step = json!({"subject": id, "to_code": "decided"}).to_string();
        world.create("staff", "/status", &step);
        let after = world.get("blind", &path);
        assert_eq!(members(&after)["applicant"], "Zyx");
        assert_ne!(before.header("etag"), after.header("etag"));
        let known =
            world.service.get(&path).header("if-none-match", before.header("etag").unwrap());
        world.send("blind", known).expect(200);
        assert_eq!(before.header("last-modified"), None);
    });
}

#[test]
fn no_answer_has_a_word_of_a_hidden_member() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let (path, id) = sheet(&world);
        let change = json!({"rating": "fair", "applicant": "Zyx Canary"}).to_string();
        world.send("staff", world.service.patch(&path).json(change)).expect(200);
        let _ = world.create("staff", "/v1/gadscores", r#"{"applicant":"Abc"}"#);
        let scores = "/v1/gadscores";
        let targets = [
            path.clone(),
            format!("{path}?fields=applicant,detail,panel"),
            format!("{path}?check=true"),
            format!("{path}/versions"),
            format!("{path}/versions/1"),
            format!("{path}/versions/2/diff?from=1"),
            format!("{path}/versions/1/diff"),
            scores.to_owned(),
            format!("{scores}?fields=applicant,detail"),
            format!("{scores}?count_by=applicant"),
            format!("{scores}?count_by=detail"),
            format!("{scores}?sort=applicant&page_size=1"),
            format!("{scores}?sort=-detail&page_size=1"),
            "/v1/changes".to_owned(),
            "/v1/changes?group=gadscores".to_owned(),
            "/exports/gadscores.csv".to_owned(),
            "/exports/gadscores.ndjson".to_owned(),
            "/exports/gadscores.xlsx".to_owned(),
            format!("{scores}?q=Canary"),
            format!("{scores}?q=good"),
            format!("{scores}?embed=proposal&access=true"),
            format!(
                "{scores}?as_of={}",
                world.get("staff", &path).value()["_meta"]["updated_at"].as_str().unwrap()
            ),
            "/explore".to_owned(),
            "/explore/changes".to_owned(),
            "/explore/gadscores".to_owned(),
            "/explore/gadscores?q=good".to_owned(),
            format!("/explore/gadscores/{id}"),
            format!("/explore/gadscores/{id}/edit"),
            format!("/explore/gadscores/{id}/history"),
        ];
        for caller in ["blind", "anonymous"] {
            for target in &targets {
                let request = world.service.get(target);
                let request = if target.starts_with("/explore") {
                    request.header("accept", "text/html")
                } else {
                    request
                };
                let answer = world.callers.sign(caller, request).send_unchecked();
                assert!(caller == "anonymous" || answer.status < 300, "{target}: {answer}");
                let text = if answer.body.starts_with(b"PK") {
                    text_of(&answer.body)
                } else {
                    answer.text().to_owned()
                };
                for canary in CANARIES.iter().filter(|canary| !target.contains(**canary)) {
                    assert!(!text.contains(canary), "{caller} {target}: {text}");
                }
            }
            // Filters, orders and counts are those of items without the members.
            for (query, total) in [
                ("filter[applicant]=Abc", 0),
                ("filter[applicant][exists]=true", 0),
                ("filter[applicant][exists]=false", 2),
                ("filter[applicant][contains]=anary", 0),
                ("filter[applicant][ne]=x", 0),
                ("filter[panel][contains]=anary", 0),
                ("q=Zyx", 0),
                ("q=Canary", 0),
                ("q=canar*", 0),
                ("q=%22zyx%20canary%22", 0),
                ("q=fair%20zyx", 0),
                ("q=fair", 1),
                ("q=fai*", 1),
            ] {
                let page = world.get(caller, &format!("{scores}?{query}")).value();
                assert_eq!(page["total_items"], total, "{caller} {query}: {page}");
            }
            for sort in ["applicant", "-applicant", "detail"] {
                let page = world.get(caller, &format!("{scores}?sort={sort}")).value();
                let first = &page["_embedded"]["gadscores"][0]["id"];
                assert_eq!(*first, id, "{caller} {sort}");
            }
        }
        let all = world.get("staff", &format!("{scores}?q=canary")).value();
        assert_eq!(all["total_items"], 1);
        // The stream.
        let key = format!("Authorization: Bearer {}\r\n", world.callers.key("blind"));
        let mut stream = EventStream::open(world.service.address(), "", &key);
        let change = r#"{"rating":"poor"}"#;
        world.send("staff", world.service.patch(&path).json(change)).expect(200);
        let event = stream.event().data.to_string();
        assert!(event.contains(&id), "{event}");
        assert!(CANARIES.iter().all(|canary| !event.contains(canary)), "{event}");
    });
}

#[test]
fn matches_are_newest_first_for_callers_with_hidden_members() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let create = |sheet: &str| world.create("staff", "/v1/gadscores", sheet).value();
        let ids = [
            create(r#"{"rating":"fair","stage":"fair","applicant":"fair"}"#)["id"].clone(),
            create(r#"{"rating":"fair","applicant":"none"}"#)["id"].clone(),
        ];
        for (caller, order) in [("blind", [1, 0]), ("anonymous", [1, 0]), ("staff", [0, 1])] {
            let mut target = "/v1/gadscores?q=fair&page_size=1".to_owned();
            for number in order {
                let page = world.get(caller, &target).value();
                assert_eq!(page["_embedded"]["gadscores"][0]["id"], ids[number], "{caller}");
                let next = page["_links"]["next"]["href"].as_str().unwrap_or_default();
                target = next.find("/v1/").map_or(String::new(), |start| next[start..].to_owned());
            }
            assert_eq!(target, "", "{caller}");
        }
    });
}

#[test]
fn pages_offer_what_the_caller_may_do() {
    on_each_store(|store| {
        let proposals = "  - {id: proposals, group: proposals, allow: [read], to: [anyone]}\n";
        let world = World::new(store, &CALLERS, &format!("{POLICIES}{proposals}"), &[]);
        let (_, id) = sheet(&world);
        let proposal = world.create(
            "staff",
            "/v1/proposals",
            r#"{"proposal_type":"R&D","project_title":"Rice"}"#,
        );
        let (sheet, proposal) = (format!("/{id}"), format!("/{}", proposal.id()));
        let parts = ["id=\"gadscores\"", "id=\"files\"", "id=\"lib\""];
        let (edit, earlier, add) = (">Edit<", "State at an earlier time", "Add a field");
        for (caller, group, page, status, shown, absent) in [
            ("staff", "gadscores", &*sheet, 200, &[edit, earlier, ">History<"][..], &[][..]),
            ("clerk", "gadscores", &sheet, 200, &[edit], &[earlier, ">History<"]),
            ("staff", "gadscores", "", 200, &[earlier, "/deleted"], &[]),
            ("clerk", "gadscores", "", 200, &[">New score sheet<"], &[earlier, "/deleted"]),
            ("public", "gadscores", &sheet, 200, &["<h1>"], &[edit, earlier]),
            (
                "blind",
                "changes",
                "?group=gadscores",
                200,
                &["unknown"],
                &["anonymous", "key:staff"],
            ),
            ("staff", "gadscores", &format!("{sheet}/edit"), 200, &[add], &[]),
            ("blind", "gadscores", &format!("{sheet}/edit"), 200, &[add], &["Canary"]),
            ("clerk", "gadscores", &format!("{sheet}/edit"), 200, &["You are not allowed"], &[add]),
            ("public", "gadscores", &format!("{sheet}/edit"), 403, &[], &["Save"]),
            ("clerk", "gadscores", "/new", 200, &["rating"], &[add, "applicant"]),
            ("public", "gadscores", "/new", 403, &[], &["Save"]),
            ("public", "gadscores", "/import", 403, &[], &["Canary"]),
            ("anonymous", "gadscores", "/import", 401, &[], &["Canary"]),
            ("clerk", "proposals", &proposal, 200, &parts[..1], &parts[1..]),
            ("staff", "proposals", &proposal, 200, &parts, &[]),
        ] {
            let request = world.service.get(&format!("/explore/{group}{page}"));
            let answer = world.callers.sign(caller, request.header("accept", "text/html"));
            let answer = answer.send_unchecked();
            assert_eq!(answer.status, status, "{caller} {page}: {answer}");
            let has = |text: &&&str| answer.text().contains(**text);
            assert!(shown.iter().all(|text| has(&text)), "{caller} {page}: {answer}");
            assert!(!absent.iter().any(|text| has(&text)), "{caller} {page}: {answer}");
        }
    });
}

#[test]
fn a_rule_quotes_no_hidden_member() {
    const RULES: &str = "rules:
  - id: no_worst
    group: gadscores
    check: self.rating != 'worst'
    message_expression: '\"Not for \" + self.applicant'
  - id: no_more_steps
    group: status
    lookup: {sheet: 'gadscores[self.subject]'}
    check: 'false'
    message_expression: '\"Not for \" + sheet.applicant'
";
    on_each_store(|store| {
        let world = World::with_rules(store, &CALLERS, POLICIES, RULES);
        let (path, id) = sheet(&world);
        let step = json!({"subject": id, "to_code": "in_review"}).to_string();
        for (caller, details) in [
            ("staff", ["Not for Zyx", "Not for Zyx"]),
            ("blind", ["The rule `no_worst` is not met.", "The rule `no_more_steps` is not met."]),
        ] {
            let writes = [
                world.service.patch(&path).json(r#"{"rating":"worst"}"#),
                world.service.post("/status").json(step.as_str()),
            ];
            for (write, detail) in writes.into_iter().zip(details) {
                let refused = world.send(caller, write).expect(422).value();
                assert_eq!(refused["errors"][0]["detail"], detail, "{caller}");
            }
        }
    });
}

#[test]
fn imports_and_restorations_keep_and_refuse_as_other_writes() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let (path, id) = sheet(&world);
        let import = |name: &str, row: &Value| {
            let rows = format!("{row}\n");
            let target = "/imports/gadscores?upsert=true&mode=each";
            let request = world.service.post(target).body("application/x-ndjson", rows);
            let answer = world.send(name, request).expect(200).value();
            let error = answer["rows"][0]["errors"][0]["pointer"].as_str().map(str::to_owned);
            error.map_or(Ok(()), Err)
        };
        let row = |members: Value| {
            let mut row = members;
            row["id"] = id.as_str().into();
            row["_version"] = world.get("staff", &path).value()["_meta"]["version"].clone();
            row
        };
        let seen =
            json!({"rating": "fair", "detail": {"note": "b"}, "panel": [{"mark": 3}, {"mark": 4}]});
        assert_eq!(import("blind", &row(seen.clone())), Ok(()));
        let whole = members(&world.get("staff", &path));
        assert_eq!((&whole["rating"], &whole["applicant"]), (&"fair".into(), &"Zyx".into()));
        assert_eq!(whole["detail"], json!({"note": "b", "name": "Canary"}));
        let mut named = seen;
        named["applicant"] = "Abc".into();
        assert_eq!(import("blind", &row(named)), Err("/applicant".to_owned()));
        let mut changed = members(&world.get("staff", &path));
        changed["stage"] = "x".into();
        assert_eq!(import("clerk", &row(changed)), Err("/stage".to_owned()));
        // A version is restored by a caller who sees all of it.
        let restore = || world.service.post(&format!("{path}/versions/1"));
        assert_eq!(pointers(&world.send("blind", restore())), [""]);
        world.create("staff", "/status", &json!({"subject": id, "to_code": "decided"}).to_string());
        world.send("blind", restore()).expect(200);
        assert_eq!(
            members(&world.get("staff", &path)),
            serde_json::from_str::<Value>(SHEET).unwrap()
        );
    });
}

#[test]
fn writers_with_different_sight_lose_no_member() {
    const WRITERS: usize = 64;
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let (path, _) = sheet(&world);
        let writers: Vec<_> = (0..WRITERS).collect();
        scope(|scope| {
            for number in &writers {
                let (world, path) = (&world, &path);
                scope.spawn(move || {
                    let (name, body) = if number % 2 == 0 {
                        ("blind", json!({"rating": number.to_string(), "detail": {"note": "b"}, "panel": [{"mark": 3}, {"mark": 4}]}))
                    } else {
                        let mut body: Value = serde_json::from_str(SHEET).unwrap();
                        body["applicant"] = format!("Zyx {number}").into();
                        ("staff", body)
                    };
                    let request = world.service.put(path).json(body.to_string());
                    world.send(name, request).expect(200);
                });
            }
        });
        let end = members(&world.get("staff", &path));
        assert!(end["applicant"].as_str().unwrap().starts_with("Zyx "), "{end}");
        assert_eq!(end["detail"]["name"], "Canary");
        assert_eq!(end["panel"][0], json!({"rater": "Canary", "mark": 3}));
        let versions = world.get("staff", &format!("{path}/versions?page_size=1")).value();
        assert_eq!(versions["total_items"], 1 + WRITERS);
    });
}

#[test]
fn a_page_does_not_show_that_an_item_was_written_on_which_only_a_policy_depends() {
    const POLICIES: &str = "
policies:
  - {id: staff_all, group: [gadscores, status], allow: [read, write], to: [staff]}
  - {id: visitors, group: gadscores, allow: [read], to: [clerk]}
  - id: blind
    group: gadscores
    hide: [applicant]
    to: [clerk]
    lookup: {steps: 'status[subject = self.id]'}
    when: '!steps.exists(step, step.to_code == \"decided\")'
";
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let (_, id) = sheet(&world);
        let page = || {
            let answer = world.get("clerk", "/v1/gadscores");
            (answer.header("etag").unwrap().to_owned(), answer.text().to_owned())
        };
        let step = |code: &str| {
            let step = json!({"subject": id, "to_code": code}).to_string();
            world.create("staff", "/status", &step);
        };
        let before = page();
        step("in_review");
        assert_eq!(page(), before);
        step("decided");
        assert_ne!(page().0, before.0);
        assert!(page().1.contains("Zyx"));
    });
}

/// Content is hidden and protected like a member.
#[test]
fn content_is_hidden_and_protected_like_a_member() {
    const POLICIES: &str = "
policies:
  - {id: staff_all, group: [proposals, files], allow: [read, history, write], to: [staff]}
  - {id: reviewers, group: files, allow: [read, history, update], to: [reviewer]}
  - {id: blind, group: files, hide: [/_meta/content], to: [reviewer]}
  - {id: clerks, group: files, allow: [read, update], write: [note], to: [clerk]}
  - {id: senders, group: files, allow: [read, update], write: [/_meta/content], to: [sender]}
";
    let callers =
        [("staff", "staff"), ("blind", "reviewer"), ("clerk", "clerk"), ("sender", "sender")];
    on_each_store(|store| {
        let world = World::new(store, &callers, POLICIES, &[]);
        let id = world.create("staff", "/v1/files", r#"{"note":"a"}"#).id();
        let (path, content) = (format!("/v1/files/{id}"), format!("/v1/files/{id}/content"));
        let send = |name: &str, method: &str, body: &str| {
            let request = world.service.request(method, &content);
            let request = if method == "PUT" { request.body("text/plain", body) } else { request };
            world.send(name, request)
        };
        assert_eq!(send("anonymous", "PUT", "x").status, 401);
        assert_eq!(send("staff", "PUT", "canary").status, 201);
        for (name, status) in
            [("staff", 200), ("clerk", 200), ("sender", 200), ("blind", 404), ("anonymous", 401)]
        {
            assert_eq!(send(name, "GET", "").status, status, "{name}");
            let version = format!("{path}/versions/2/content");
            let status = if ["clerk", "sender"].contains(&name) { 403 } else { status };
            assert_eq!(world.send(name, world.service.get(&version)).status, status, "{name}");
        }
        let seen = world.get("blind", &path);
        assert_eq!((seen.value()["_meta"].get("content"), seen.link("enclosure")), (None, None));
        for (name, method) in
            [("blind", "PUT"), ("blind", "DELETE"), ("clerk", "PUT"), ("clerk", "DELETE")]
        {
            let refused = send(name, method, "y");
            // Hidden content is absent, so it cannot be removed.
            if (name, method) == ("blind", "DELETE") {
                assert_eq!(refused.status, 404, "{name} {method}");
            } else {
                assert!(pointers(&refused).iter().all(|it| it.starts_with("/_meta")), "{refused}");
            }
        }
        assert_eq!(send("sender", "PUT", "sent").status, 200);
        for (name, kind) in [("staff", "attached"), ("blind", "patched")] {
            let versions = world.get(name, &format!("{path}/versions"));
            assert_eq!(versions.embedded("versions")[0]["kind"], kind, "{name}");
            let changes = world.get(name, "/v1/changes?group=files");
            let last = changes.embedded("changes").pop().unwrap();
            assert_eq!(last["kind"], kind, "{name}");
        }
        // A caller who does not see the content keeps it.
        let replaced = world.send("blind", world.service.put(&path).json(r#"{"note":"b"}"#));
        assert_eq!(replaced.status, 200, "{replaced}");
        assert_eq!(send("staff", "GET", "").text(), "sent");
        let filtered = world.get("blind", "/v1/files?filter%5B_meta%5D%5Bexists%5D=true");
        assert_eq!(filtered.value()["total_items"], 0, "{filtered}");
    });
}
