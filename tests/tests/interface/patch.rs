//! PATCH is a JSON merge patch (RFC 7396) under the two media types of the specification, judged by
//! its result.

use tests::Service;

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

tests::cases![
    a_patch_is_merged_as_rfc_7396_says,
    the_result_of_a_patch_is_judged_as_a_whole,
    patches_at_the_same_time_all_take_effect,
    a_misspelt_field_is_refused,
];

fn a_patch_is_merged_as_rfc_7396_says(service: &Service) {
    for (target, patch, result) in CASES {
        println!("{target} with {patch}");
        for content_type in ["application/json", "application/vnd.files.v1+json"] {
            let item = service.create("/v1/files", target);
            service.patch(&item.path).body(content_type, *patch).expect(200).with_members(result);
            service.read(&item.path).with_members(result);
        }
    }
}

fn the_result_of_a_patch_is_judged_as_a_whole(service: &Service) {
    let period = r#"{"start_date":"2026-06-01","end_date":"2026-12-31","#;
    let dated = PROPOSAL.replacen('{', period, 1);
    let item = service.create("/v1/proposals", &dated);
    for refused in [
        r#"{"end_date":"2026-05-31"}"#,
        r#"{"start_date":"2027-01-01"}"#,
        r#"{"project_title":null}"#,
        r#"{"proposal_type":" "}"#,
        r#"{"end_date":"soon"}"#,
        r#"{"unheard_of":1}"#,
    ] {
        service.patch(&item.path).json(refused).expect(422);
    }
    service.change(&item.path, "{}").with_members(&dated);
    let both = r#"{"start_date":"2028-01-01","end_date":"2028-12-31"}"#;
    let moved = dated.replace("2026-06", "2028-01").replace("2026-12", "2028-12");
    service.change(&item.path, both).with_members(&moved);
    let none = r#"{"start_date":null,"end_date":null}"#;
    service.change(&item.path, none).with_members(PROPOSAL);
}

fn patches_at_the_same_time_all_take_effect(service: &Service) {
    let item = service.create("/v1/files", "{}");
    std::thread::scope(|scope| {
        for number in 0..16 {
            let path = &item.path;
            scope.spawn(move || service.change(path, format!(r#"{{"m{number}":{number}}}"#)));
        }
    });
    let members = service.read(&item.path).value();
    for number in 0..16 {
        assert_eq!(members[format!("m{number}")], number, "{members}");
    }
}

fn a_misspelt_field_is_refused(service: &Service) {
    let item = service.create("/v1/proposals", PROPOSAL);
    for (patch, expected) in [
        (r#"{"descripton":null}"#, &["/descripton unknown_field"][..]),
        (r#"{"":null,"description":null}"#, &["/ unknown_field"]),
        (r#"{"id":"x","nonsense":null}"#, &["/id id_mismatch", "/nonsense unknown_field"]),
    ] {
        let mut errors = service.patch(&item.path).json(patch).expect(422).errors();
        errors.sort();
        let errors = errors.iter().map(|error| format!("{} {}", error.pointer, error.code));
        assert_eq!(errors.collect::<Vec<_>>(), expected, "{patch}");
    }
    service.change(&item.path, r#"{"description":null,"_meta":null}"#);
    assert_eq!(service.read(&item.path).etag(), item.etag, "no write was done");
}
