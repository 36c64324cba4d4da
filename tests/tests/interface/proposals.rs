//! `/v1/proposals`: the 21 fields of part 2 of the specification, what each takes, and second
//! phases.

use tests::on_each_store;

use crate::{PROPOSAL, UNKNOWN_ID};

pub const TEXT: &[&str] = &[
    "project_description",
    "description",
    "general_objective",
    "significance",
    "literature",
    "methodology",
    "sustainability",
    "outcomes",
    "social_impact",
    "economic_impact",
    "limitations",
    "research_type",
];
pub const TEXT_OR_TEXTS: &[&str] = &["specific_objectives", "implementation_sites"];
pub const TEXT_OR_INTEGER: &[&str] = &["program_id", "project_id", "researcher_id"];
pub const DATES: &[&str] = &["start_date", "end_date"];
pub const REQUIRED: &[&str] = &["proposal_type", "project_title"];

/// A proposal with every field of the specification, in its order.
pub const FULL: &str = r#"{"start_date":"2026-01-01","end_date":"2027-12-31","proposal_type":"R&D Project","program_id":"PRG-2025-004",
"project_id":9007199254740993123,"project_title":"Rapid test kit","project_description":"Two seasons","description":"Ωμέγα ₱ 🐟",
"general_objective":"To test","specific_objectives":["One","Two"],"significance":"4,000 households","literature":"a\nb\tc \"d\" \\e",
"methodology":"RCBD","sustainability":"","outcomes":"120 trained","social_impact":"Fewer lean months","economic_impact":"₱18,000",
"limitations":"Irrigated fields","research_type":"Applied","researcher_id":112,"implementation_sites":"Bato, Catanduanes"}"#;

#[test]
fn the_fields_are_the_21_of_the_specification() {
    assert_eq!([TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES, REQUIRED].concat().len(), 21);
    on_each_store(|service| {
        let item = service.create("/v1/proposals", FULL);
        service.get(&item.path).send().expect(200).with_members(FULL);
    });
}

#[test]
fn a_field_takes_the_values_of_its_type_only() {
    let text = (TEXT, &[r#""""#, r#""Any text""#][..], &["7", "true", "{}", r#"["a"]"#][..]);
    let texts =
        (TEXT_OR_TEXTS, &[r#""One""#, "[]", r#"["One","Two"]"#][..], &["7", "false", "{}"][..]);
    let identifiers = (
        TEXT_OR_INTEGER,
        &[r#""PRJ-1""#, "0", "-7", "123456789012345678901234567890"][..],
        &["1.5", "true", "[]", "{}"][..],
    );
    let dates = (
        DATES,
        &[r#""2026-01-31""#, r#""2024-02-29""#][..],
        &[
            r#""2026-02-29""#,
            r#""2026-02-30""#,
            r#""2026-13-01""#,
            r#""2026-00-10""#,
            r#""2026-1-1""#,
            r#""26-01-01""#,
            r#""01/31/2026""#,
            r#""2026-01-01T00:00:00Z""#,
            r#"" 2026-01-01""#,
            r#""20260101""#,
            r#""next year""#,
            r#""""#,
            "20260101",
            "[]",
        ][..],
    );
    on_each_store(|service| {
        for (fields, taken, refused) in [text, texts, identifiers, dates] {
            for field in fields {
                for value in taken {
                    let body = proposal_with(field, value);
                    service
                        .post("/v1/proposals")
                        .json(body.clone())
                        .send()
                        .expect(201)
                        .with_members(&body);
                }
                for value in refused {
                    service
                        .post("/v1/proposals")
                        .json(proposal_with(field, value))
                        .send()
                        .refusing(&[&format!("/{field}")]);
                }
            }
        }
    });
}

#[test]
fn a_list_of_texts_is_judged_text_by_text() {
    on_each_store(|service| {
        for field in TEXT_OR_TEXTS {
            let answer = service
                .post("/v1/proposals")
                .json(proposal_with(field, r#"["One",2,"Three",[4]]"#))
                .send();
            answer.refusing(&[&format!("/{field}/1"), &format!("/{field}/3")]);
        }
    });
}

#[test]
fn the_required_fields_are_there_and_not_blank() {
    on_each_store(|service| {
        service
            .post("/v1/proposals")
            .json("{}")
            .send()
            .refusing(&["/proposal_type", "/project_title"]);
        for (field, other) in [(REQUIRED[0], REQUIRED[1]), (REQUIRED[1], REQUIRED[0])] {
            let pointer = format!("/{field}");
            service
                .post("/v1/proposals")
                .json(format!(r#"{{"{other}":"x"}}"#))
                .send()
                .refusing(&[&pointer]);
            for value in ["null", r#""""#, r#""  ""#, r#""\t\n""#, r#""\u00a0""#, "[]", "true"] {
                let body = format!(r#"{{"{other}":"x","{field}":{value}}}"#);
                service.post("/v1/proposals").json(body).send().refusing(&[&pointer]);
            }
        }
        service
            .post("/v1/proposals")
            .json(r#"{"proposal_type":3,"project_title":"T"}"#)
            .send()
            .expect(201);
        service
            .post("/v1/proposals")
            .json(r#"{"proposal_type":"T","project_title":3}"#)
            .send()
            .refusing(&["/project_title"]);
    });
}

#[test]
fn null_is_absent() {
    on_each_store(|service| {
        for field in [TEXT, TEXT_OR_TEXTS, TEXT_OR_INTEGER, DATES].concat() {
            let answer =
                service.post("/v1/proposals").json(proposal_with(field, "null")).send().expect(201);
            answer.with_members(PROPOSAL);
        }
    });
}

#[test]
fn an_unknown_field_is_refused_and_the_nearest_name_suggested() {
    on_each_store(|service| {
        for (field, nearest) in [
            ("projct_title", Some("project_title")),
            ("Start_Date", Some("start_date")),
            ("startdate", Some("start_date")),
            ("reseacher_id", Some("researcher_id")),
            ("implementation_site", Some("implementation_sites")),
            ("zzz", None),
            ("", None),
        ] {
            let answer = service
                .post("/v1/proposals")
                .json(proposal_with(field, "\"x\""))
                .send()
                .refusing(&[&format!("/{field}")]);
            let detail = &answer.errors()[0].detail;
            assert!(
                nearest.is_none_or(|nearest| detail.contains(nearest)),
                "{nearest:?} is suggested in {answer}"
            );
        }
    });
}

#[test]
fn a_project_does_not_end_before_it_starts() {
    on_each_store(|service| {
        for (start, end, is_taken) in [
            ("2026-01-01", "2026-01-02", true),
            ("2026-01-01", "2026-01-01", true),
            ("2026-01-02", "2026-01-01", false),
            ("2026-01-01", "2025-12-31", false),
        ] {
            let body = format!(
                r#"{{"proposal_type":"R","project_title":"T","start_date":"{start}","end_date":"{end}"}}"#
            );
            let answer = service.post("/v1/proposals").json(body).send().expect(if is_taken {
                201
            } else {
                422
            });
            if !is_taken {
                assert!(
                    answer.errors().iter().all(|error| error.field.ends_with("_date")),
                    "{answer}"
                );
            }
        }
    });
}

#[test]
fn put_replaces_the_whole_proposal_and_creates_none() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", FULL);
        let replaced =
            service.put(&item.path).json(PROPOSAL).send().expect(200).with_members(PROPOSAL);
        assert_eq!(replaced.id(), item.id);
        service.get(&item.path).send().expect(200).with_members(PROPOSAL);
        service.put(&item.path).json("{}").send().refusing(&["/proposal_type", "/project_title"]);
        service.get(&item.path).send().expect(200).with_members(PROPOSAL);

        let before = service.contents("/v1/proposals");
        service.put(&format!("/v1/proposals/{UNKNOWN_ID}")).json(PROPOSAL).send().expect(404);
        assert_eq!(service.contents("/v1/proposals"), before);
    });
}

#[test]
fn post_on_a_proposal_continues_it() {
    on_each_store(|service| continues(service, "/v1/proposals", PROPOSAL, FULL));
}

/// POST on an item makes a new item from the body, and links the two.
pub fn continues(service: &tests::Service, collection: &str, first_body: &str, second_body: &str) {
    let first = service.create(collection, first_body);
    let mut successors = Vec::new();
    for _ in 0..2 {
        let second = service
            .post(&first.path)
            .json(second_body)
            .send()
            .expect(201)
            .with_members(second_body);
        let path = format!("{collection}/{}", second.id());
        assert_ne!(path, first.path);
        assert!(second.needed_header("location").ends_with(&path), "Location of {second}");
        assert_eq!(second.link("self").as_ref(), Some(&path));
        assert_eq!(second.link("continues").as_ref(), Some(&first.path));
        assert_eq!(
            service.get(&path).send().expect(200).link("continues").as_ref(),
            Some(&first.path)
        );
        successors.push(path);
    }
    let continued = service.get(&first.path).send().expect(200).with_members(first_body);
    assert_eq!(continued.links("continued-by"), successors, "{continued}");
    assert_eq!(continued.link("continues"), None, "{continued}");

    let with_own_id = second_body.replacen('{', &format!(r#"{{"id":"{}","#, first.id), 1);
    let third = service.post(&first.path).json(with_own_id).send().expect(201);
    assert_ne!(third.id(), first.id);
    let with_other_id = second_body.replacen('{', &format!(r#"{{"id":"{UNKNOWN_ID}","#), 1);
    service.post(&first.path).json(with_other_id).send().refusing(&["/id"]);
}

fn proposal_with(field: &str, value: &str) -> String {
    format!(
        r#"{{"proposal_type":"R&D Project","project_title":"Rapid test kit","{field}":{value}}}"#
    )
}
