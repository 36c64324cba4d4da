//! The files that say who may use the service, as an operator meets them at the start.

use std::fs;

use tests::stores::TestDatabase;
use tests::tool::error_of;

use crate::{command, folder, refused};

const IDENTITY: &str = "keys: []\n";
const POLICIES: &str =
    "policies: [{id: members_read, group: files, allow: [read], to: [signed_in]}]\n";

#[test]
fn a_faulty_file_stops_the_start_before_there_is_a_database() {
    for (identity, policies, line) in [
        ("keys: [{name: a}]\n", POLICIES, "identity.yaml:1:8: a key needs the key `sha256`"),
        ("keys: [\n", POLICIES, "identity.yaml:"),
        (IDENTITY, "policies: [{id: a}]\n", "policies.yaml:1:12: "),
        (IDENTITY, "policies: 7\n", "policies.yaml:1:11: `policies` is a list"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("identity.yaml"), identity).unwrap();
        fs::write(folder.path().join("policies.yaml"), policies).unwrap();
        let files = ["--identity", "identity.yaml", "--policies", "policies.yaml"];
        let arguments = [&files[..], &["--listen", "127.0.0.1:0"]].concat();
        let output = command(&folder, &arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("proposal-service: {line}")), "{said}");
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["identity.yaml", "policies.yaml"], "a database was made");
    }
}

#[test]
fn a_file_that_is_missing_is_told_before_a_database_that_cannot_be_reached() {
    let folder = folder();
    let nowhere = ["--database-url", "postgres://nobody@127.0.0.1:1/nowhere"];
    for option in ["--identity", "--policies"] {
        let arguments =
            [&[option, "missing.yaml", "--listen", "127.0.0.1:0"][..], &nowhere].concat();
        let line = refused(&command(&folder, &arguments).output().unwrap(), 1);
        assert!(line.contains("missing.yaml"), "{line}");
    }
}

#[test]
fn a_faulty_file_stops_the_start_before_a_database_is_migrated() {
    let database = TestDatabase::postgres();
    let folder = folder();
    fs::write(folder.path().join("identity.yaml"), "keys: 7\n").unwrap();
    let serve = ["--listen", "127.0.0.1:0", "--database-url", database.url()];
    let with_identity = [&serve[..], &["--identity", "identity.yaml"]].concat();
    let line = refused(&command(&folder, &with_identity).output().unwrap(), 1);
    assert!(line.contains("identity.yaml:1:7: "), "{line}");
    // A store that is not migrated is not served under this option.
    let unmigrated = [&serve[..], &["--migrate", "never"]].concat();
    let line = error_of(&command(&folder, &unmigrated).output().unwrap(), 1);
    assert!(line.contains("the database is not prepared"), "{line}");
}
