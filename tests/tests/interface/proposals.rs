//! `/v1/proposals`: the 21 fields of part 2 of the specification, what each takes, and second
//! phases.

use serde_json::value::RawValue;
use tests::{Answer, ExactJson, Service};

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

/// Real proposals of 100 bytes to 110 KB.
const SAMPLES: &str = include_str!("../../data/sample_proposals.json");

tests::cases![
    samples_are_created_read_listed_replaced_and_deleted,
    every_field_takes_the_values_of_its_type_only,
    the_required_fields_are_there_and_not_blank,
    an_unknown_field_is_refused_and_the_nearest_name_suggested,
    a_project_does_not_end_before_it_starts,
    put_replaces_the_whole_proposal_and_creates_none,
    post_on_a_proposal_continues_it,
];

fn post(service: &Service, body: &str) -> Answer {
    service.post("/v1/proposals").json(body).send()
}

fn samples_are_created_read_listed_replaced_and_deleted(service: &Service) {
    let samples: Vec<Box<RawValue>> = serde_json::from_str(SAMPLES).expect("JSON");
    assert_eq!(samples.len(), 12);
    let create = |sample: &RawValue| {
        let answer = post(service, sample.get()).expect(201).with_members(sample.get());
        let path = format!("/v1/proposals/{}", answer.id());
        let read = service.read(&path).with_members(sample.get());
        assert_eq!(read.text(), answer.text());
        (path, ExactJson::parse(read.text()))
    };
    let (paths, items): (Vec<_>, Vec<_>) = samples.iter().map(|sample| create(sample)).unzip();
    let page = ExactJson::parse(service.read("/v1/proposals").text());
    let listed = page.member("_embedded").and_then(|embedded| embedded.member("proposals"));
    assert_eq!(listed, Some(ExactJson::List(items)));
    for (path, sample) in paths.iter().zip(samples.iter().rev()) {
        service.replace(path, sample.get()).with_members(sample.get());
        service.read(path).with_members(sample.get());
    }
    for path in &paths {
        service.remove(path);
        service.get(path).expect(404);
    }
    assert_eq!(service.read("/v1/proposals").value()["total_items"], 0);
}

fn every_field_takes_the_values_of_its_type_only(service: &Service) {
    let texts = "2026-02-29 2026-02-30 2026-13-01 2026-00-10 2026-1-1 26-01-01 01/31/2026 \
        2026-01-01T00:00:00Z 20260101 soon";
    let no_dates: Vec<_> = texts.split(' ').map(|text| format!("\"{text}\"")).collect();
    let no_dates = no_dates.iter().map(String::as_str);
    let no_dates: Vec<_> =
        no_dates.chain([r#"" 2026-01-01""#, r#""next year""#, r#""""#, "20260101", "[]"]).collect();
    let integers = ["null", r#""PRJ-1""#, "0", "-7", "123456789012345678901234567890"];
    let table: [(&[&str], &[&str], &[&str]); 4] = [
        (TEXT, &["null", r#""""#, r#""Any text""#], &["7", "true", "{}", r#"["a"]"#]),
        (TEXT_OR_TEXTS, &["null", r#""One""#, "[]", r#"["One","Two"]"#], &["7", "false", "{}"]),
        (TEXT_OR_INTEGER, &integers, &["1.5", "true", "[]", "{}"]),
        (DATES, &["null", r#""2026-01-31""#, r#""2024-02-29""#], &no_dates),
    ];
    let fields: usize = table.iter().map(|(fields, ..)| fields.len()).sum();
    assert_eq!(fields + REQUIRED.len(), 21, "the fields of the specification");
    for (fields, taken, refused) in table {
        for field in fields {
            for value in taken {
                let body = proposal_with(field, value);
                // Null is absent.
                let stored = if *value == "null" { PROPOSAL } else { &body };
                post(service, &body).expect(201).with_members(stored);
            }
            for value in refused {
                let answer = post(service, &proposal_with(field, value));
                answer.refusing(&[&format!("/{field}")]);
            }
        }
    }
    for field in TEXT_OR_TEXTS {
        let answer = post(service, &proposal_with(field, r#"["One",2,"Three",[4]]"#));
        answer.refusing(&[&format!("/{field}/1"), &format!("/{field}/3")]);
    }
}

fn the_required_fields_are_there_and_not_blank(service: &Service) {
    post(service, "{}").refusing(&["/proposal_type", "/project_title"]);
    for (field, other) in [(REQUIRED[0], REQUIRED[1]), (REQUIRED[1], REQUIRED[0])] {
        let pointer = format!("/{field}");
        post(service, &format!(r#"{{"{other}":"x"}}"#)).refusing(&[&pointer]);
        for value in ["null", r#""""#, r#""  ""#, r#""\t\n""#, r#""\u00a0""#, "[]", "true"] {
            let body = format!(r#"{{"{other}":"x","{field}":{value}}}"#);
            post(service, &body).refusing(&[&pointer]);
        }
    }
    post(service, r#"{"proposal_type":3,"project_title":"T"}"#).expect(201);
    post(service, r#"{"proposal_type":"T","project_title":3}"#).refusing(&["/project_title"]);
}

fn an_unknown_field_is_refused_and_the_nearest_name_suggested(service: &Service) {
    for (field, nearest) in [
        ("projct_title", "project_title"),
        ("Start_Date", "start_date"),
        ("startdate", "start_date"),
        ("reseacher_id", "researcher_id"),
        ("implementation_site", "implementation_sites"),
        ("zzz", ""),
        ("", ""),
    ] {
        let answer = post(service, &proposal_with(field, "\"x\""));
        let answer = answer.refusing(&[&format!("/{field}")]);
        assert!(answer.errors()[0].detail.contains(nearest), "{nearest} is suggested in {answer}");
    }
}

fn a_project_does_not_end_before_it_starts(service: &Service) {
    for (start, end, status) in [
        ("2026-01-01", "2026-01-02", 201),
        ("2026-01-01", "2026-01-01", 201),
        ("2026-01-02", "2026-01-01", 422),
        ("2026-01-01", "2025-12-31", 422),
    ] {
        let dates = format!(r#"{{"start_date":"{start}","end_date":"{end}","#);
        let answer = post(service, &PROPOSAL.replacen('{', &dates, 1)).expect(status);
        if status == 422 {
            assert!(answer.errors().iter().all(|error| error.field.ends_with("_date")), "{answer}");
        }
    }
}

fn put_replaces_the_whole_proposal_and_creates_none(service: &Service) {
    let item = service.create("/v1/proposals", FULL);
    service.read(&item.path).with_members(FULL);
    let replaced = service.replace(&item.path, PROPOSAL).with_members(PROPOSAL);
    assert_eq!(replaced.id(), item.id);
    service.put(&item.path).json("{}").send().refusing(&["/proposal_type", "/project_title"]);
    service.read(&item.path).with_members(PROPOSAL);
    let before = service.contents("/v1/proposals");
    service.put(&format!("/v1/proposals/{UNKNOWN_ID}")).json(PROPOSAL).expect(404);
    assert_eq!(service.contents("/v1/proposals"), before);
}

fn post_on_a_proposal_continues_it(service: &Service) {
    continues(service, "/v1/proposals", PROPOSAL, FULL);
}

/// POST on an item makes a new item from the body, and links the two.
pub fn continues(service: &Service, collection: &str, first_body: &str, second_body: &str) {
    let first = service.create(collection, first_body);
    let post = |body: &str| service.post(&first.path).json(body).send();
    let successors = [(); 2].map(|()| {
        let second = post(second_body).expect(201).with_members(second_body);
        let path = format!("{collection}/{}", second.id());
        assert_ne!(path, first.path);
        assert!(second.needed_header("location").ends_with(&path), "Location of {second}");
        assert_eq!(second.link("self").as_ref(), Some(&path));
        for answer in [second, service.read(&path)] {
            assert_eq!(answer.link("continues").as_ref(), Some(&first.path), "{answer}");
        }
        path
    });
    let continued = service.read(&first.path).with_members(first_body);
    assert_eq!(continued.links("continued-by"), successors, "{continued}");
    assert_eq!(continued.link("continues"), None, "{continued}");
    let with_id = |id: &str| second_body.replacen('{', &format!(r#"{{"id":"{id}","#), 1);
    assert_ne!(post(&with_id(&first.id)).expect(201).id(), first.id);
    post(&with_id(UNKNOWN_ID)).refusing(&["/id"]);
}

fn proposal_with(field: &str, value: &str) -> String {
    format!(
        r#"{{"proposal_type":"R&D Project","project_title":"Rapid test kit","{field}":{value}}}"#
    )
}
