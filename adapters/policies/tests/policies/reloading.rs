//! Policies that are read again: all or nothing, and only when their files changed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use application::{Caller, Clock, Policies};
use domain::{Collection, Operation};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use policies_adapter::ReloadablePolicies;

use crate::files::folder;

struct Noon(Date);

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn day_of(&self, _: Timestamp) -> Date {
        self.0
    }
}

fn written(group: &str) -> String {
    format!(
        "policies:\n- {{id: public, group: {group}, allow: [read], to: [anyone], effective: {{from: 2026-06-01}}}}\n"
    )
}

fn open(path: &Path, day: Date) -> ReloadablePolicies {
    ReloadablePolicies::open(path, Arc::new(Noon(day))).expect("sound policies")
}

const TODAY: Date = date(2026, 6, 1);

fn readable(policies: &dyn Policies) -> Vec<&'static str> {
    let permissions = policies.permissions(&Caller::Anonymous);
    let read = |of: &Collection| permissions.has_all(*of, Operation::Read);
    Collection::all().filter(read).map(Collection::name).collect()
}

#[test]
fn bad_policies_leave_the_old_ones_in_force() {
    let folder = folder(&[("p.yaml", &written("files"))]);
    let path = folder.path().join("p.yaml");
    let policies = open(folder.path(), TODAY);
    let first = policies.edition();
    assert!(policies.files.changed().is_none());
    assert_eq!(policies.files.reload(), Ok(false));
    for bad in
        ["policies: [", "policies: [{id: p}]", "policies:", "# nothing", "{}", "cases: []", ""]
    {
        fs::write(&path, bad).expect("a file");
        assert!(policies.files.changed().is_some());
        assert!(policies.files.reload().is_err());
        assert!(policies.files.changed().is_none(), "a refused change is reported once");
        assert_eq!((readable(&policies), policies.edition()), (vec!["files"], first));
    }
    fs::write(&path, written("lib")).expect("a file");
    assert!(policies.files.changed().is_some());
    assert_eq!((policies.files.reload(), readable(&policies)), (Ok(true), vec!["lib"]));
    assert_ne!(policies.edition(), first);
    let deciding = |of| {
        let collection = Collection::known(of);
        let concerning = policies.concerning(&Caller::Anonymous, collection, Operation::Read);
        concerning.into_iter().map(|policy| policy.id.into()).collect::<Vec<String>>()
    };
    assert_eq!((deciding("lib"), deciding("files")), (vec!["public".into()], Vec::new()));
    assert_eq!(policies.published().len(), 1);
    fs::remove_file(&path).expect("a removal");
    assert!(policies.files.reload().is_err());
    assert_eq!(readable(&policies), ["lib"]);
}

#[test]
fn an_empty_list_of_policies_is_meant_and_permits_nothing() {
    let folder = folder(&[("p.yaml", &written("files"))]);
    let path = folder.path().join("p.yaml");
    let policies = open(folder.path(), TODAY);
    // A file with cases only is valid if another file has the policies.
    fs::write(folder.path().join("cases.yaml"), "cases: []").expect("a file");
    fs::write(&path, "policies: []").expect("a file");
    assert_eq!((policies.files.reload(), readable(&policies)), (Ok(true), Vec::new()));
    fs::remove_file(&path).expect("a removal");
    let errors = policies.files.reload().expect_err("a file without policies").to_string();
    assert!(errors.contains("write `policies: []`"), "{errors}");
}

#[test]
fn the_clock_has_the_day() {
    let folder = folder(&[("p.yaml", &written("files"))]);
    for (day, expected) in [(date(2026, 5, 31), vec![]), (TODAY, vec!["files"])] {
        assert_eq!(readable(&open(&folder.path().join("p.yaml"), day)), expected);
    }
}
