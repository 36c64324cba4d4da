//! Members come back equal, and what cannot be kept is refused, never altered.

use tests::{Request, Service};

use crate::UNKNOWN_ID;
use crate::queries::FILES;

/// Bodies that an open group keeps to the code point, the digit and the order of members.
const KEPT: &[&str] = &[
    "{}",
    r#"{"z":1,"a":2,"m":3,"A":4,"":5}"#,
    r#"{"outer":{"z":1,"a":{"y":[3,2,1],"b":{}}},"list":[[],{},[{"q":1,"p":2}]]}"#,
    r#"{"amount":100.10,"zeros":1.000,"small":0.0000001,"negative":-0.50}"#,
    r#"{"exponents":[1e5,1E5,1.5e+10,2.50E-7,1e400]}"#,
    r#"{"minus_zero":-0,"minus_zero_point":-0.0}"#,
    r#"{"u64":18446744073709551616,"i64":-9223372036854775809,"f64":9007199254740993,"long":123456789012345678901234567890.123456789012345678901234567890}"#,
    r#"{"truth":[true,false,null],"nothing":null}"#,
    r#"{"text":"ñ ₱ Ωμέγα 漢字 🐟 👩‍🔬 e\u0301 \u00e9"}"#,
    r#"{"pair":"\ud83d\udc1f","bmp":"\u6f22","high":"\uFFFD\uFFFE\uFFFF","bom":"\ufeff"}"#,
    r#"{"escapes":"\" \\ \/ \b \f \n \r \t \u0001 \u001f \u007f \u2028 \u2029"}"#,
    r#"{"right to left":"\u202e\u0627\u0644\u0639\u0631\u0628\u064a\u0629","line\nbreak":"","'; DROP TABLE items; --":"<script>alert(1)</script>"}"#,
    r#"{"dates":"2026-02-30","looks_like_uuid":"01890a5d-ac96-774b-bcce-b302099a8057"}"#,
    r#"{"nested":{"id":"mine","_links":{"self":1},"_embedded":[],"_meta":null}}"#,
    r#"{"version":7,"created_at":"never","collection":"x","links":[]}"#,
    "{\"white\" :\t[ 1 ,\r\n 2 ] , \"space\":\n{ } }",
];

/// Bodies that cannot be read as JSON of the right shape.
const UNREADABLE: &[(&str, &[u8])] = &[
    ("an empty body", b""),
    ("nothing but white space", b" \r\n\t"),
    ("an array", b"[]"),
    ("a string", b"\"text\""),
    ("a number", b"7"),
    ("null", b"null"),
    ("an open object", b"{\"a\":1"),
    ("an open string", b"{\"a\":\"x"),
    ("text after the object", b"{} {}"),
    ("a trailing comma", b"{\"a\":1,}"),
    ("a trailing comma in an array", b"{\"a\":[1,]}"),
    ("a name without quotes", b"{a:1}"),
    ("single quotes", b"{'a':1}"),
    ("a comment", b"{\"a\":1} // no"),
    ("a missing colon", b"{\"a\" 1}"),
    ("a leading zero", b"{\"a\":01}"),
    ("a leading plus", b"{\"a\":+1}"),
    ("a bare point", b"{\"a\":1.}"),
    ("a bare exponent", b"{\"a\":1e}"),
    ("not a number", b"{\"a\":NaN}"),
    ("infinity", b"{\"a\":-Infinity}"),
    ("a capital literal", b"{\"a\":True}"),
    ("a bare control character", b"{\"a\":\"x\ny\"}"),
    ("an unknown escape", b"{\"a\":\"\\x41\"}"),
    ("a short escape", b"{\"a\":\"\\u12\"}"),
    ("a high surrogate alone", b"{\"a\":\"\\ud83d\"}"),
    ("a low surrogate alone", b"{\"a\":\"\\udc1f\"}"),
    ("two high surrogates", b"{\"a\":\"\\ud83d\\ud83d\"}"),
    ("a surrogate alone in a name", b"{\"\\ud83d\":1}"),
    ("bytes that are not UTF-8", b"{\"a\":\"\xff\xfe\"}"),
    ("an overlong encoding", b"{\"a\":\"\xc0\xaf\"}"),
    ("an encoded surrogate", b"{\"a\":\"\xed\xa0\x80\"}"),
    ("a cut-off character", b"{\"a\":\"\xe2\x82\"}"),
    ("UTF-16", b"\xff\xfe{\0}\0"),
    ("the same name twice", b"{\"a\":1,\"b\":2,\"a\":1}"),
    ("the same name twice, once escaped", b"{\"a\":1,\"\\u0061\":2}"),
    ("the same name twice further down", b"{\"a\":[{\"b\":1,\"b\":2}]}"),
    ("the service's name twice", b"{\"_links\":1,\"_links\":2}"),
];

/// Bodies that are read and cannot be kept, and where the error is.
const UNSTORABLE: &[(&str, &str)] = &[
    (r#"{"a":"\u0000"}"#, "/a"),
    (r#"{"a":"before\u0000after"}"#, "/a"),
    (r#"{"a":[1,{"b":"\u0000"}]}"#, "/a/1/b"),
    (r#"{"a":1e999999}"#, "/a"),
    (r#"{"a":[-1e999999]}"#, "/a/0"),
    (r#"{"a":1e-999999}"#, "/a"),
];

tests::cases![
    members_come_back_as_they_were_sent,
    members_come_back_equal_from_a_chunked_body,
    unreadable_bodies_are_400,
    nesting_of_128_levels_is_read_and_129_are_not,
    values_that_cannot_be_kept_are_refused,
    members_of_the_service_are_ignored_in_a_body,
    an_id_in_a_body_must_be_the_paths,
    an_item_shows_its_id_and_its_history_in_short,
];

fn members_come_back_as_they_were_sent(service: &Service) {
    for body in KEPT {
        let item = service.create(FILES, body);
        service.read(&item.path).with_members(body);
        let other = service.create(FILES, r#"{"something":"else"}"#);
        service.replace(&other.path, *body).with_members(body);
        service.read(&other.path).with_members(body);
    }
}

fn members_come_back_equal_from_a_chunked_body(service: &Service) {
    let body = format!(r#"{{"text":"{}","amount":100.10}}"#, "₱ñ🐟".repeat(100_000));
    let answer = service.post(FILES).json(body.clone()).chunked().expect(201).with_members(&body);
    service.read(&format!("{FILES}/{}", answer.id())).with_members(&body);
}

fn unreadable_bodies_are_400(service: &Service) {
    let item = service.create(FILES, r#"{"a":0}"#);
    let before = service.contents(FILES);
    for (case, body) in UNREADABLE {
        println!("{case}");
        for write in writes(service, &item.path, body) {
            write.expect(400);
        }
    }
    assert_eq!(service.contents(FILES), before);
}

fn nesting_of_128_levels_is_read_and_129_are_not(service: &Service) {
    let arrays =
        |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    let objects = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    for body in [arrays(128), objects(128)] {
        let item = service.create(FILES, &body);
        service.read(&item.path).with_members(&body);
    }
    for body in
        [arrays(129), objects(129), arrays(100_000), objects(100_000), "[".repeat(1_000_000)]
    {
        service.post(FILES).json(body).expect(400);
    }
}

fn values_that_cannot_be_kept_are_refused(service: &Service) {
    let item = service.create(FILES, r#"{"a":0}"#);
    let before = service.contents(FILES);
    for (body, pointer) in UNSTORABLE {
        for write in writes(service, &item.path, body) {
            write.send().refusing(&[pointer]);
        }
    }
    service.post(FILES).json(r#"{"a\u0000b":1}"#).expect(422);
    assert_eq!(service.contents(FILES), before);
}

fn members_of_the_service_are_ignored_in_a_body(service: &Service) {
    let sent = r#"{"_meta":5,"a":1,"_links":{"self":{"href":"/elsewhere"}},"b":2,"_embedded":"x"}"#;
    let created = service.post(FILES).json(sent).expect(201).with_members(r#"{"a":1,"b":2}"#);
    let path = format!("{FILES}/{}", created.id());
    assert_eq!(created.link("self"), Some(path.clone()));

    let fetched = service.read(&path);
    let edited = fetched.text().replace(r#""a":1"#, r#""a":10.0"#);
    service.replace(&path, edited.clone()).with_members(r#"{"a":10.0,"b":2}"#);
    service.change(&path, edited).with_members(r#"{"a":10.0,"b":2}"#);
}

fn an_id_in_a_body_must_be_the_paths(service: &Service) {
    let item = service.create(FILES, r#"{"a":1}"#);
    let own = format!(r#"{{"id":"{}","a":1}}"#, item.id);
    service.replace(&item.path, own.clone()).with_members(r#"{"a":1}"#);
    service.change(&item.path, own.clone()).with_members(r#"{"a":1}"#);
    let refused = service.post(FILES).json(own).send().refusing(&["/id"]);
    assert_eq!(refused.errors()[0].code, "id_not_allowed");
    for id in [&*format!("\"{UNKNOWN_ID}\""), "\"\"", "7", "{}"] {
        let other = format!(r#"{{"a":2,"id":{id}}}"#);
        for write in writes(service, &item.path, other) {
            write.send().refusing(&["/id"]);
        }
    }
    service.read(&item.path).with_members(r#"{"a":1}"#);
}

fn an_item_shows_its_id_and_its_history_in_short(service: &Service) {
    let created = service.post(FILES).json(r#"{"a":1}"#).expect(201);
    let id = created.id();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "a UUIDv7: {id}");
    let replaced = service.replace(&format!("{FILES}/{id}"), r#"{"a":2}"#);
    let [first, second] = [created, replaced].map(|answer| answer.value()["_meta"].clone());
    let versions = [&first, &second].map(|meta| meta["version"].as_u64().expect("a number"));
    assert!(versions[0] < versions[1], "{versions:?}");
    assert_eq!(second["created_at"], first["created_at"]);
    let times = [&first["created_at"], &first["updated_at"], &second["updated_at"]]
        .map(|time| time.as_str().expect("a string"));
    assert!(times.is_sorted(), "{times:?}");
    for time in times {
        assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "RFC 3339 in UTC: {time}");
    }
}

/// A creation, a replacement and a patch with the same body.
fn writes(service: &Service, item: &str, body: impl AsRef<[u8]>) -> [Request; 3] {
    [service.post(FILES), service.put(item), service.patch(item)]
        .map(|request| request.json(body.as_ref()))
}
