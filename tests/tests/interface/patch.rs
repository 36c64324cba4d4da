//! PATCH is a JSON merge patch (RFC 7396) under the two media types of the specification, judged by
//! its result.

use tests::on_each_store;

use crate::PROPOSAL;

/// Target, patch and result: the cases of RFC 7396, appendix A, whose target and patch are objects,
/// and a few more.
const CASES: &[(&str, &str, &str)] = &[
    (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
    (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
    (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
    (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
    (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
    (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
    ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    (r#"{"a":1}"#, "{}", r#"{"a":1}"#),
    (r#"{"a":1}"#, r#"{"b":null}"#, r#"{"a":1}"#),
    (r#"{"a":[1,null]}"#, r#"{"b":[null]}"#, r#"{"a":[1,null],"b":[null]}"#),
    (r#"{"a":"text"}"#, r#"{"a":{"b":{"c":1,"d":null}}}"#, r#"{"a":{"b":{"c":1}}}"#),
    (r#"{"z":1,"a":2,"m":3}"#, r#"{"m":30.0,"z":10}"#, r#"{"z":10,"a":2,"m":30.0}"#),
    (r#"{"kept":100.10}"#, r#"{"new":0.50}"#, r#"{"kept":100.10,"new":0.50}"#),
];

#[test]
fn a_patch_is_merged_as_rfc_7396_says() {
    on_each_store(|service| {
        for (target, patch, result) in CASES {
            println!("{target} with {patch}");
            for content_type in ["application/json", "application/vnd.files.v1+json"] {
                let item = service.create("/v1/files", target);
                service
                    .patch(&item.path)
                    .body(content_type, *patch)
                    .send()
                    .expect(200)
                    .with_members(result);
                service.get(&item.path).send().expect(200).with_members(result);
            }
        }
    });
}

#[test]
fn the_result_of_a_patch_is_judged_as_a_whole() {
    let dated = r#"{"proposal_type":"R&D Project","project_title":"T","start_date":"2026-06-01","end_date":"2026-12-31"}"#;
    on_each_store(|service| {
        let item = service.create("/v1/proposals", dated);
        for refused in [
            r#"{"end_date":"2026-05-31"}"#,
            r#"{"start_date":"2027-01-01"}"#,
            r#"{"project_title":null}"#,
            r#"{"proposal_type":" "}"#,
            r#"{"end_date":"soon"}"#,
            r#"{"unheard_of":1}"#,
        ] {
            service.patch(&item.path).json(refused).send().expect(422);
        }
        service.get(&item.path).send().expect(200).with_members(dated);
        let both = r#"{"start_date":"2028-01-01","end_date":"2028-12-31"}"#;
        let moved = dated.replace("2026-06-01", "2028-01-01").replace("2026-12-31", "2028-12-31");
        service.patch(&item.path).json(both).send().expect(200).with_members(&moved);
        service.patch(&item.path).json(r#"{"start_date":null,"end_date":null}"#).send().expect(200);
        service
            .get(&item.path)
            .send()
            .expect(200)
            .with_members(r#"{"proposal_type":"R&D Project","project_title":"T"}"#);
    });
}

#[test]
fn an_empty_patch_does_no_harm() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        service.patch(&item.path).json("{}").send().expect(200).with_members(PROPOSAL);
    });
}

#[test]
fn patches_at_the_same_time_all_take_effect() {
    on_each_store(|service| {
        let item = service.create("/v1/files", "{}");
        std::thread::scope(|scope| {
            for number in 0..16 {
                let path = &item.path;
                scope.spawn(move || {
                    service
                        .patch(path)
                        .json(format!(r#"{{"m{number}":{number}}}"#))
                        .send()
                        .expect(200)
                });
            }
        });
        let members = service.get(&item.path).send().expect(200).value();
        for number in 0..16 {
            assert_eq!(members[format!("m{number}")], number, "{members}");
        }
    });
}

#[test]
fn a_misspelt_field_is_not_removed_in_silence() {
    on_each_store(|service| {
        let item = service.create("/v1/proposals", PROPOSAL);
        for (patch, expected) in [
            (r#"{"descripton":null}"#, &[("/descripton", "unknown_field")][..]),
            (r#"{"":null,"description":null}"#, &[("/", "unknown_field")]),
            (
                r#"{"id":"x","nonsense":null}"#,
                &[("/id", "id_mismatch"), ("/nonsense", "unknown_field")],
            ),
        ] {
            let mut errors = service.patch(&item.path).json(patch).send().expect(422).errors();
            errors.sort();
            let errors: Vec<_> =
                errors.iter().map(|error| (error.pointer.as_str(), error.code.as_str())).collect();
            assert_eq!(errors, expected, "{patch}");
        }
        service.patch(&item.path).json(r#"{"description":null,"_meta":null}"#).send().expect(200);
        assert_eq!(
            service.get(&item.path).send().expect(200).etag(),
            item.etag,
            "nothing was written"
        );
    });
}
