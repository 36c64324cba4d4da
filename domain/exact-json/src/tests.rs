//! The reader against `serde_json`, which reads the same language but loses what ours keeps.

use proptest::prelude::*;

use super::{JsonErrorKind, MAX_DEPTH, read};
use crate::Members;

fn kind_of(text: &str) -> Option<JsonErrorKind> {
    read(text.as_bytes()).err().map(|error| error.kind)
}

#[test]
fn what_is_kept_and_what_is_refused() {
    let numbers = r#" { "b" : 1.50 , "a" : [ 1e5 , -0 , 123456789012345678901234567890 ] } "#;
    for (text, kept) in [
        (numbers, r#"{"b":1.50,"a":[1e5,-0,123456789012345678901234567890]}"#),
        (r#""\u00e9\ud83d\ude00\/\u000a\"\\""#, "\"é😀/\\n\\\"\\\\\""),
        (r#"["",{},[],true,false,null]"#, r#"["",{},[],true,false,null]"#),
    ] {
        assert_eq!(read(text.as_bytes()).map(|read| read.text).as_deref(), Ok(kept), "{text}");
    }
    let refused = "[1,]|[01]|[1.]|[.5]|[+1]|[1e]|{\"a\":1,}|{a:1}|{\"a\"}|['a']|[NaN]|nul|{} {}|\"\t\"|\"\\x\"|\u{feff}{}";
    for text in refused.split('|') {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn faults_are_distinguished() {
    for (text, kind) in [
        ("", JsonErrorKind::Empty),
        (" \n", JsonErrorKind::Empty),
        ("{", JsonErrorKind::Malformed),
        (r#"{"a":1,"b":2,"a":3}"#, JsonErrorKind::DuplicateMember),
        (r#"{"a":{"x":1,"\u0078":2}}"#, JsonErrorKind::DuplicateMember),
        (r#"["\ud800"]"#, JsonErrorKind::LoneSurrogate),
        (r#"["\udc00\ud800"]"#, JsonErrorKind::LoneSurrogate),
        (r#"["\ud800\u0041"]"#, JsonErrorKind::LoneSurrogate),
    ] {
        assert_eq!(kind_of(text), Some(kind), "{text}");
    }
    let error = read(b"{\"a\":\"\xff\"}").unwrap_err();
    assert_eq!((error.kind, error.column), (JsonErrorKind::NotUtf8, 7));
}

#[test]
fn a_fault_names_its_line_and_column() {
    let error = read("{\n  \"é\": tru\n}".as_bytes()).unwrap_err();
    assert_eq!((error.line, error.column), (2, 8));
    assert_eq!(error.to_string(), "line 2, column 8: expected a value, found `t`");
}

#[test]
fn depth_is_bounded_to_the_level() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(kind_of(&nested(MAX_DEPTH)), None);
    assert_eq!(kind_of(&nested(MAX_DEPTH + 1)), Some(JsonErrorKind::TooDeep));
    assert_eq!(kind_of(&"[".repeat(1_000_000)), Some(JsonErrorKind::TooDeep));
}

#[test]
fn duplicates_are_found_among_many() {
    let many: Vec<_> = (0..1000).map(|index| format!("\"m{index}\":{index}")).collect();
    let many = many.join(",");
    assert_eq!(kind_of(&format!("{{{many}}}")), None);
    let twice = kind_of(&format!("{{{many},\"m7\":0}}"));
    assert_eq!(twice, Some(JsonErrorKind::DuplicateMember));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map(any::<String>(), inner, 0..20)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_equal(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let read = read(text.as_bytes()).unwrap();
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&read.text).unwrap(), &value);
            let again = super::read(read.text.as_bytes()).unwrap();
            prop_assert_eq!(again.text, read.text, "what was read is canonical");
        }
    }

    #[test]
    fn any_bytes_are_accepted_exactly_when_serde_json_accepts_them(bytes in prop::collection::vec(prop::sample::select(br#"{}[],:"\u0d8c1e-+.tfn a"#.to_vec()), 0..24)) {
        // Within these bytes the two differ only in what we refuse on purpose.
        let theirs = serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
        match read(&bytes) {
            Ok(_) => prop_assert!(theirs || String::from_utf8_lossy(&bytes).contains('e'), "only a number beyond the range of f64 is ours alone"),
            Err(error) => prop_assert!(!theirs || error.kind == JsonErrorKind::DuplicateMember, "{error}"),
        }
    }

    #[test]
    fn damaged_json_is_refused_or_read_as_what_it_is(value in any_json(), at in any::<prop::sample::Index>(), length in 0..4_usize, by in prop::collection::vec(any::<u8>(), 0..4)) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, by);
        if let Ok(found) = read(&bytes) {
            prop_assert_eq!(&read(found.text.as_bytes()).unwrap().text, &found.text, "what is accepted comes back equal");
            if let Some(members) = Members::read(&bytes).unwrap() {
                let index: Vec<_> = members.encoded_entries().collect();
                let walked: Vec<_> = found.value().entries().into_iter().flatten().collect();
                prop_assert_eq!(index, walked, "the index has the same members as the text");
            }
        }
    }

    #[test]
    fn a_duplicate_name_is_refused_at_any_depth(count in 2..40_usize, one in any::<prop::sample::Index>(), depth in 0..3_usize) {
        let one = one.index(count);
        let names: Vec<_> = (0..count).chain([one]).map(|number| format!("\"m{number}\": {number}")).collect();
        let text = format!("{}{{{}}}{}", "[".repeat(depth), names.join(", "), "]".repeat(depth));
        let error = read(text.as_bytes()).unwrap_err();
        let second = text.rfind(&format!("\"m{one}\"")).unwrap();
        prop_assert_eq!((error.kind, error.line, error.column), (JsonErrorKind::DuplicateMember, 1, second + 1));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&bytes);
    }

    #[test]
    fn members_find_what_was_written(map in prop::collection::hash_map(any::<String>(), any::<String>(), 0..20)) {
        let text = serde_json::to_string(&map).unwrap();
        let members = Members::read(text.as_bytes()).unwrap().unwrap();
        prop_assert_eq!(members.len(), map.len());
        for (name, value) in &map {
            let found = members.get(name).and_then(crate::Value::as_string);
            prop_assert_eq!(found.as_deref(), Some(value.as_str()));
        }
    }

    #[test]
    fn a_patch_with_itself_changes_nothing(map in prop::collection::hash_map(any::<String>(), any::<i32>(), 0..20)) {
        let text = serde_json::to_string(&map).unwrap();
        let members = Members::read(text.as_bytes()).unwrap().unwrap();
        prop_assert_eq!(&crate::merge_patch(&members, &members), &members);
    }
}
