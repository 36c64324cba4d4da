//! Lines that are read and refused.

use application::{ChangeAuthor, Sequence};
use domain::json::encode_string;
use domain::{Collection, ItemId, Version, WriteOperation};
use sha2::{Digest as _, Sha256};
use storage_adapter::ChangeRecord;

use super::{ExportEntry, checksum, header, read_entry, read_header, trailer};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8050";

/// A line with a member, or what comes in its place.
fn line(name: &str, value: &str) -> String {
    let mut line = String::from("{");
    for (field, usual) in [
        ("sequence", "7"),
        ("group", "\"files\""),
        ("item_id", "\"01890a5d-ac96-774b-bcce-b302099a8050\""),
        ("version", "1"),
        ("kind", "\"created\""),
        ("time", "\"2026-11-21T08:30:00.000001Z\""),
        ("caller", "null"),
        ("parent", "null"),
        ("continues", "null"),
        ("members", "{}"),
    ] {
        line +=
            &[encode_string(field).as_str(), ":", if field == name { value } else { usual }, ","]
                .concat();
    }
    line.pop();
    line + "}\n"
}

fn change(line: &str) -> ChangeRecord {
    match read_entry(line.as_bytes()) {
        Ok(ExportEntry::Change(change)) => *change,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(line: &str, words: &str) {
    let error = read_entry(line.as_bytes()).expect_err(line);
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let odd = r#"{"n":100.10,"big":123456789012345678901234567890,"e":1E+5,"é":"\"\\\n\u0001😀","empty":[{},[]]}"#;
    let written = ChangeRecord {
        sequence: Sequence(i64::MAX),
        collection: Collection::known("lib"),
        item: ItemId::parse(ID).unwrap(),
        version: Version::from_number(9),
        kind: WriteOperation::Patch,
        time: "-000044-03-15T12:00:00.5Z".parse().unwrap(),
        author: ChangeAuthor {
            caller: Some("Ana \"the\"\nfirst".to_owned()),
            acting: Some("Ben".to_owned()),
            client: Some("desk".to_owned()),
            request_id: Some("é 1".to_owned()),
        },
        parent: ItemId::parse(ID),
        continues: ItemId::parse(ID),
        members: Some(odd.into()),
        removed_at: None,
    };
    let removed = ChangeRecord {
        members: None,
        removed_at: Some("2026-11-25T12:00:00.000001Z".parse().unwrap()),
        ..written.clone()
    };
    let deleted = ChangeRecord {
        kind: WriteOperation::Delete,
        author: ChangeAuthor::default(),
        parent: None,
        continues: None,
        members: None,
        ..written.clone()
    };
    for written in [written, removed, deleted] {
        let line = super::change(&written);
        assert_eq!(change(&line), written);
        assert_eq!(super::change(&change(&line)), line);
    }
}

#[test]
fn a_line_of_the_first_version_names_the_caller_alone() {
    let first = line("caller", "\"Ana\"");
    assert!(!first.contains("request_id"), "{first}");
    let named = ChangeAuthor { caller: Some("Ana".to_owned()), ..ChangeAuthor::default() };
    assert_eq!(change(&first).author, named);
    assert_eq!(read_header(header().replace('3', "1").as_bytes()), Ok(()));
}

#[test]
fn members_may_be_as_deep_as_in_a_request() {
    let nested = |depth: usize| {
        line("members", &("{\"a\":".repeat(depth - 1) + "{}" + &"}".repeat(depth - 1)))
    };
    change(&nested(128));
    refused(&nested(129), "nested");
}

#[test]
fn what_no_line_can_be_is_refused_with_its_fix() {
    for (text, words) in [
        ("", "column 1"),
        ("[]", "not a JSON object"),
        ("{\"sequence\":1", "the line ends here"),
        ("{}", "`sequence` is missing"),
    ] {
        refused(text, words);
    }
    refused(&line("group", "\"fils\""), "\"files\"");
    refused(&line("item_id", "\"7\""), "UUID");
    refused(&line("item_id", &format!("\"{}\"", ID.to_uppercase())), "lower case");
    refused(&line("sequence", "0"), "from 1");
    refused(&line("version", "1.0"), "from 1");
    refused(&line("version", "9223372036854775808"), "from 1");
    refused(&line("kind", "\"made\""), "\"created\"");
    refused(&line("time", "\"2026-11-21T08:30:00Z\""), "microsecond");
    refused(&line("time", "7"), "microsecond");
    refused(&line("caller", "\"\\u0000\""), "U+0000");
    refused(&line("parent", "\"x\""), "UUID");
    refused(&line("members", "null"), "an object");
    refused(&line("members", "{\"a\":1,\"a\":2}"), "more than once");
    refused(&line("members", "{\"a\":\"\\ud800\"}"), "surrogate");
    refused(&line("members", "{\"a\":[1,\"\\u0000\"]}"), "`members/a/1`");
    refused(&line("members", "{\"a\":1e999999}"), "out of range");
    refused(&line("kind", "\"deleted\""), "null if the item is deleted");
    refused(&line("members", "{},\"membres\":{}"), "did you mean `members`?");
    let removed = "null,\"removed_at\":\"2026-11-25T12:00:00.000001Z\"";
    assert!(change(&line("members", removed)).members.is_none());
    refused(&line("members", &removed.replace("null", "{}")), "`removed_at` is set");
    refused(&line("members", &removed.replace(".000001", "")), "`removed_at` is");
    refused(
        &line("kind", &format!("\"deleted\",\"removed_at\":{}", &removed[18..])),
        "a deletion has no members",
    );
}

#[test]
fn header_and_trailer_are_known_again() {
    assert_eq!(read_header(header().as_bytes()), Ok(()));
    let newer = read_header(header().replace('3', "4").as_bytes()).unwrap_err();
    assert!(newer.starts_with("the file has format version 4"), "{newer}");
    for other in ["", "[]", "{}", "{\"format\":\"x\",\"format_version\":1}", "SQLite format 3\0"] {
        let error = read_header(other.as_bytes()).unwrap_err();
        assert!(error.starts_with("the file is not an export"), "{other}: {error}");
    }
    let entry = ExportEntry::Trailer { changes: 3, sha256: "ab".to_owned() };
    assert_eq!(read_entry(trailer(3, "ab").as_bytes()), Ok(entry));
    refused("{\"changes\":-1,\"sha256\":\"\"}", "a number");
}

#[test]
fn the_checksum_is_that_of_sha256sum() {
    let digest = Sha256::new().chain_update("hello ").chain_update("world\n");
    assert_eq!(
        checksum(digest),
        "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447"
    );
}
