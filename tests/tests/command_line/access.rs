//! Errors in the files of identity and policies at the start.

use tests::stores::TestDatabase;
use tests::tool::error_of;

use crate::{ON_FREE_PORT, command, folder_with, refused};

const IDENTITY: &str = "keys: []\n";
const POLICIES: &str =
    "policies: [{id: members_read, group: files, allow: [read], to: [signed_in]}]\n";

#[test]
fn an_error_in_a_file_prevents_the_start_before_a_database_is_created() {
    for (identity, policies, line) in [
        ("keys: [{name: a}]\n", POLICIES, "identity.yaml:1:8: a key needs the key `sha256`"),
        ("keys: [\n", POLICIES, "identity.yaml:"),
        (IDENTITY, "policies: [{id: a}]\n", "policies.yaml:1:12: "),
        (IDENTITY, "policies: 7\n", "policies.yaml:1:11: `policies` must be a list"),
    ] {
        let folder = folder_with(&[("identity.yaml", identity), ("policies.yaml", policies)]);
        let files = ["--identity", "identity.yaml", "--policies", "policies.yaml"];
        let output = command(&folder, &[&files[..], &ON_FREE_PORT].concat()).output().unwrap();
        let said = error_of(&output, 1);
        assert!(said.starts_with(&format!("proposal-service: {line}")), "{said}");
        let files = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 2, "a database was created");
    }
}

#[test]
fn an_error_in_a_file_prevents_the_start_before_a_database_is_migrated() {
    let database = TestDatabase::postgres();
    let folder = folder_with(&[("identity.yaml", "keys: 7\n")]);
    let serve = [&ON_FREE_PORT[..], &["--database-url", database.url()]].concat();
    for (arguments, words) in [
        (["--identity", "identity.yaml"], "identity.yaml:1:7: "),
        (["--migrate", "never"], "the database is not prepared"),
    ] {
        let output = command(&folder, &[&serve[..], &arguments].concat()).output().unwrap();
        let line = refused(&output, 1);
        assert!(line.contains(words), "{line}");
    }
}
