//! `docs/metrics.md` names every metric, and every metric that is served is documented.

use std::collections::BTreeMap;

use tests::{Store, wait_until};

use super::Monitored;

/// A metric that has series only with a standby that is read.
const OF_A_STANDBY: &str = "proposal_service_standby_lag_seconds";

/// The rows of all metrics of a service, by their names without the suffix of counters.
fn rows(service: &Monitored) -> BTreeMap<String, String> {
    let (metrics, mut rows) = (service.metrics(), BTreeMap::new());
    let lines: Vec<_> = metrics.text().lines().collect();
    for lines in lines.windows(2) {
        let Some(described) = lines[0].strip_prefix("# HELP ") else { continue };
        let (name, help) = described.split_once(' ').unwrap();
        let kind = lines[1].strip_prefix(&format!("# TYPE {name} ")).unwrap();
        let row = format!("| `{name}` | {kind} | {} |", help.strip_suffix('.').unwrap());
        let name = name.strip_suffix("_total").unwrap_or(name);
        assert!(rows.insert(name.to_owned(), row).is_none(), "{name} is described twice");
    }
    rows
}

/// A service with the writes and the time that every metric needs.
fn busy(store: Store, arguments: &[&str]) -> Monitored {
    let monitored = Monitored::start(store, arguments);
    monitored.service.create("/v1/files", r#"{"a":1}"#);
    wait_until(|| rows(&monitored).contains_key("proposal_service_store_bytes"));
    monitored
}

#[test]
fn the_page_has_every_metric_that_is_served_with_its_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let [rules, identity] = [
        ("rules.yaml", "rules: [{id: one, group: files, check: self.a > 0, message: no}]\n"),
        ("identity.yaml", "issuers: [{name: sso, issuer: 'http://127.0.0.1:1'}]\n"),
    ]
    .map(|(name, text)| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let with_rules = ["--rules", &*rules, "--access-log", "json"];
    let mut served = rows(&busy(Store::Sqlite, &with_rules));
    served.extend(rows(&Monitored::start(Store::Sqlite, &["--identity", &identity])));
    let standby = ["--replica-url", "postgres://127.0.0.1:1/proposals"];
    served.extend(rows(&busy(Store::Postgres, &standby)));
    let page = include_str!("../../../docs/metrics.md");
    let written: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let seldom = written.iter().find(|row| row.contains(OF_A_STANDBY)).unwrap();
    served.insert(OF_A_STANDBY.to_owned(), (*seldom).to_owned());
    let served: Vec<_> = served.into_values().collect();
    assert_eq!(written, served, "the table should be:\n{}", served.join("\n"));
}
