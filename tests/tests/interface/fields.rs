//! `fields`: the picked members, and always `id`, `_links` and `_meta`.

use serde_json::{Map, Value, json};
use tests::on_each_store;

use crate::proposals::FULL;
use crate::queries::{FILES, ODD_NAMES, encoded, every_collection};

const PROPOSALS: &str = "/v1/proposals";

#[test]
fn only_the_picked_fields_of_a_proposal_are_shown() {
    on_each_store(|service| {
        let item = service.create(PROPOSALS, FULL);
        let whole = service.get(&item.path).send().expect(200).value();
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
            let alone = service.get(&format!("{}?fields={fields}", item.path)).send().expect(200);
            assert_eq!(alone.value(), expected, "{alone}");
            let listed = service.list(PROPOSALS, &format!("fields={fields}"));
            assert_eq!(listed.items(), [expected], "{listed}");
        }
    });
}

#[test]
fn what_an_item_does_not_have_is_left_out() {
    on_each_store(|service| {
        let item = service.create(PROPOSALS, crate::PROPOSAL);
        let alone = service
            .get(&format!("{}?fields=start_date,project_title", item.path))
            .send()
            .expect(200);
        alone.with_members(r#"{"project_title":"Rapid test kit"}"#);
        service.create(FILES, r#"{"a":1}"#);
        let listed = service.list(FILES, "fields=b");
        assert_eq!(members_of(&listed.items()[0]), json!({}), "{listed}");
    });
}

#[test]
fn picked_members_come_back_as_they_were_sent() {
    let body = r#"{"amount":100.10,"big":123456789012345678901234567890.10,"e":1E5,"text":"ñ 🐟 \" \\ \u0001","list":[1.0,{"b":2.50,"a":null}],"no":false}"#;
    on_each_store(|service| {
        let item = service.create(FILES, body);
        let fields = "fields=amount,big,e,text,list,no";
        service.get(&format!("{}?{fields}", item.path)).send().expect(200).with_members(body);
        let listed = service.list(FILES, fields);
        for part in [r#""amount":100.10"#, "123456789012345678901234567890.10", "1E5", "2.50"] {
            assert!(listed.text().contains(part), "{part} in {listed}");
        }
        assert_eq!(
            members_of(&listed.items()[0]),
            serde_json::from_str::<Value>(body).unwrap(),
            "{listed}"
        );
    });
}

#[test]
fn members_with_odd_names_are_picked() {
    // A comma parts names.
    let names = ODD_NAMES.iter().filter(|name| !name.contains(','));
    on_each_store(|service| {
        let body: Map<_, _> = names.clone().map(|name| ((*name).to_owned(), json!(name))).collect();
        let item = service.create(FILES, &Value::from(body).to_string());
        for name in names.clone() {
            let fields = format!("fields={}", encoded(name));
            let alone = service.get(&format!("{}?{fields}", item.path)).send().expect(200).value();
            assert_eq!(members_of(&alone), json!({*name: name}), "{fields}");
            assert_eq!(service.list(FILES, &fields).items(), [alone], "{fields}");
        }
    });
}

#[test]
fn null_is_picked_the_same_alone_and_in_a_page() {
    on_each_store(|service| {
        let item = service.create(FILES, r#"{"a":null,"b":1}"#);
        let alone = service.get(&format!("{}?fields=a,b", item.path)).send().expect(200);
        assert_eq!(service.list(FILES, "fields=a,b").items(), [alone.value()]);
        assert_eq!(members_of(&alone.value()), json!({"a": null, "b": 1}), "{alone}");
    });
}

#[test]
fn every_collection_and_its_items_pick() {
    on_each_store(|service| {
        for collection in every_collection(service) {
            let item =
                service.create(&collection, r#"{"proposal_type":"picked","project_title":"T"}"#);
            let alone =
                service.get(&format!("{}?fields=project_title", item.path)).send().expect(200);
            assert_eq!(members_of(&alone.value()), json!({"project_title": "T"}), "{alone}");
            let listed = service.list(
                &collection,
                "fields=project_title&filter[proposal_type]=picked&sort=-proposal_type",
            );
            assert_eq!(
                listed.items(),
                [alone.value()],
                "filtered and sorted by what is not shown: {listed}"
            );
            let head = service
                .request("HEAD", &format!("{}?fields=project_title", item.path))
                .send()
                .expect(200);
            assert_eq!(head.header("content-length"), alone.header("content-length"), "{head}");
        }
    });
}

#[test]
fn a_picked_item_has_the_items_entity_tag() {
    on_each_store(|service| {
        let item = service.create(FILES, r#"{"a":1,"b":2}"#);
        let picked = || service.get(&format!("{}?fields=a", item.path));
        assert_eq!(picked().send().expect(200).etag(), item.etag);
        picked().header("if-none-match", &item.etag).send().expect(304);
        service
            .put(&item.path)
            .header("if-match", picked().send().etag())
            .json(r#"{"a":3}"#)
            .send()
            .expect(200);
        picked().header("if-none-match", &item.etag).send().expect(200).with_members(r#"{"a":3}"#);
    });
}

#[test]
fn fields_that_no_item_can_have_are_refused() {
    on_each_store(|service| {
        let item = service.create(PROPOSALS, FULL);
        for (fields, mentioned) in [
            ("fields=titel", &["`fields`", "titel"][..]),
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
    });
}

/// An item with these of its members alone.
fn picked(whole: &Value, shown: &[&str]) -> Value {
    let is_shown = |name: &String| {
        ["id", "_links", "_meta"].contains(&name.as_str()) || shown.contains(&name.as_str())
    };
    whole
        .as_object()
        .expect("an item")
        .iter()
        .filter(|(name, _)| is_shown(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The members of an item that are its author's; the rest must be there.
fn members_of(item: &Value) -> Value {
    let mut members = item.as_object().expect("an item").clone();
    for name in ["id", "_links", "_meta"] {
        assert!(members.remove(name).is_some(), "{name} in {item}");
    }
    members.into()
}
