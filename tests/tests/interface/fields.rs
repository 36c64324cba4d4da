//! `fields`: the picked members, and always `id`, `_links` and `_meta`.

use serde_json::{Map, Value, json};
use tests::Service;

use crate::proposals::FULL;
use crate::queries::{FILES, ODD_NAMES, encoded, every_collection};

const PROPOSALS: &str = "/v1/proposals";

tests::cases![
    picked_members_come_back_as_they_were_sent,
    members_with_odd_names_are_picked,
    only_the_picked_fields_of_a_proposal_are_shown,
    missing_members_are_left_out,
    every_collection_and_its_items_pick,
    a_picked_item_has_the_items_entity_tag,
    unknown_fields_are_refused,
];

fn only_the_picked_fields_of_a_proposal_are_shown(service: &Service) {
    let item = service.create(PROPOSALS, FULL);
    let whole = service.read(&item.path).value();
    for (fields, shown) in [
        ("project_title,start_date", &["project_title", "start_date"][..]),
        ("start_date,project_title", &["project_title", "start_date"]),
        ("project_title%2Cstart_date", &["project_title", "start_date"]),
        ("id", &[]),
        ("id,researcher_id,id", &["researcher_id"]),
        ("project_id", &["project_id"]),
        ("specific_objectives", &["specific_objectives"]),
        ("project_title,project_title", &["project_title"]),
    ] {
        let expected = picked(&whole, shown);
        let alone = service.read(&format!("{}?fields={fields}", item.path));
        assert_eq!(alone.value(), expected, "{alone}");
        let listed = service.list(PROPOSALS, &format!("fields={fields}"));
        assert_eq!(listed.items(), [expected], "{listed}");
    }
}

fn missing_members_are_left_out(service: &Service) {
    let item = service.create(PROPOSALS, crate::PROPOSAL);
    let alone = service.read(&format!("{}?fields=start_date,project_title", item.path));
    alone.with_members(r#"{"project_title":"Rapid test kit"}"#);
    let item = service.create(FILES, r#"{"a":null,"b":1}"#);
    for (fields, members) in [("c", json!({})), ("a,b", json!({"a": null, "b": 1}))] {
        let alone = service.read(&format!("{}?fields={fields}", item.path)).value();
        assert_eq!(members_of(&alone), members);
        assert_eq!(service.list(FILES, &format!("fields={fields}")).items(), [alone]);
    }
}

fn picked_members_come_back_as_they_were_sent(service: &Service) {
    let body = r#"{"amount":100.10,"big":123456789012345678901234567890.10,"e":1E5,"text":"ñ 🐟 \" \\ \u0001","list":[1.0,{"b":2.50,"a":null}],"no":false}"#;
    let item = service.create(FILES, body);
    let fields = "fields=amount,big,e,text,list,no";
    service.read(&format!("{}?{fields}", item.path)).with_members(body);
    let listed = service.list(FILES, fields);
    for part in [r#""amount":100.10"#, "123456789012345678901234567890.10", "1E5", "2.50"] {
        assert!(listed.text().contains(part), "{part} in {listed}");
    }
    assert_eq!(serde_json::from_str(body).ok(), Some(members_of(&listed.items()[0])), "{listed}");
}

fn members_with_odd_names_are_picked(service: &Service) {
    // A comma separates names.
    let names = ODD_NAMES.iter().filter(|name| !name.contains(','));
    let body: Map<_, _> = names.clone().map(|name| ((*name).to_owned(), json!(name))).collect();
    let item = service.create(FILES, &Value::from(body).to_string());
    for name in names {
        let fields = format!("fields={}", encoded(name));
        let alone = service.read(&format!("{}?{fields}", item.path)).value();
        assert_eq!(members_of(&alone), json!({*name: name}), "{fields}");
        assert_eq!(service.list(FILES, &fields).items(), [alone], "{fields}");
    }
}

fn every_collection_and_its_items_pick(service: &Service) {
    for collection in every_collection(service) {
        let item = service.create(&collection, r#"{"proposal_type":"picked","project_title":"T"}"#);
        let target = format!("{}?fields=project_title", item.path);
        let alone = service.read(&target);
        assert_eq!(members_of(&alone.value()), json!({"project_title": "T"}), "{alone}");
        // Members that are not shown filter and sort.
        let query = "fields=project_title&filter[proposal_type]=picked&sort=-proposal_type";
        assert_eq!(service.list(&collection, query).items(), [alone.value()], "{collection}");
        let head = service.request("HEAD", &target).expect(200);
        assert_eq!(head.header("content-length"), alone.header("content-length"), "{head}");
    }
}

fn a_picked_item_has_the_items_entity_tag(service: &Service) {
    let item = service.create(FILES, r#"{"a":1,"b":2}"#);
    let picked = || service.get(&format!("{}?fields=a", item.path));
    let tag = picked().expect(200).etag();
    assert_eq!(tag, item.etag);
    picked().header("if-none-match", &tag).expect(304);
    service.put(&item.path).header("if-match", &tag).json(r#"{"a":3}"#).expect(200);
    picked().header("if-none-match", &tag).expect(200).with_members(r#"{"a":3}"#);
}

fn unknown_fields_are_refused(service: &Service) {
    let item = service.create(PROPOSALS, FULL);
    let many = format!("fields={}a", "a,".repeat(100));
    for (fields, mentioned) in [
        (&*many, &["`fields`", "at most 100 names"][..]),
        ("fields=titel", &["Unknown field `titel` of a proposal in `fields`."]),
        ("fields=created_at", &["`fields`", "created_at"]),
        ("fields=_meta", &["`fields`", "_meta"]),
        ("fields=projecttitle", &["`fields`", "projecttitle", "`project_title`"]),
        ("fields=start_date,Project_Title", &["`fields`", "Project_Title", "`project_title`"]),
        ("fields=", &["`fields`"]),
        ("fields=start_date,", &["`fields`"]),
        ("fields=start_date&fields=end_date", &["`fields`"]),
        ("fields=%ff", &["fields"]),
        ("field=start_date", &["field", "`fields`"]),
    ] {
        for target in [&item.path, PROPOSALS] {
            service.get(&format!("{target}?{fields}")).send().refusing_query(mentioned);
        }
    }
}

/// An item with these of its members alone.
fn picked(whole: &Value, shown: &[&str]) -> Value {
    let mut picked = whole.as_object().expect("an item").clone();
    picked.retain(|name, _| [shown, &["id", "_links", "_meta"]].concat().contains(&&**name));
    picked.into()
}

/// The members of an item that are its author's; the rest must be there.
fn members_of(item: &Value) -> Value {
    let mut members = item.as_object().expect("an item").clone();
    for name in ["id", "_links", "_meta"] {
        assert!(members.remove(name).is_some(), "{name} in {item}");
    }
    members.into()
}
