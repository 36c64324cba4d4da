//! The paths of the service, as they are mounted.

pub mod hanging;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use application::Ports;
use application::ports::{
    MockCallerDirectory, MockChangeLog, MockClock, MockContentRegister, MockHistory,
    MockIdGenerator, MockItemRepository, MockReadiness, MockRuleBook, MockRuleTrials,
    MockSessionStore,
};
use domain::{Collection, Item, ItemId, Version};
use jiff::Timestamp;
use uuid::Uuid;

use super::{HttpOptions, paths};
use crate::Deployment;
use crate::middleware::gate::Asks;

pub fn item(id: &str, version: i64) -> Item {
    Item {
        id: ItemId::parse(id).unwrap(),
        version: Version::from_number(version),
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        members: "{}".into(),
        parent: None,
        continues: None,
        created_by: None,
    }
}

pub fn mocked(items: MockItemRepository) -> (Ports, HttpOptions) {
    let mut ids = MockIdGenerator::new();
    ids.expect_next_id().returning(|| ItemId::from_uuid(Uuid::nil()));
    let mut changes = MockChangeLog::new();
    changes.expect_history_id().returning(|| "h".into());
    let mut rules = MockRuleBook::new();
    rules.expect_rules().returning(|_| [].into());
    let ports = Ports {
        identity: None,
        standbys: None,
        contents: None,
        content_register: Arc::new(MockContentRegister::new()),
        sessions: Arc::new(MockSessionStore::new()),
        policies: Arc::new(application::NoPolicies::Open),
        items: Arc::new(items),
        history: Arc::new(MockHistory::new()),
        changes: Arc::new(changes),
        callers: Arc::new(MockCallerDirectory::new()),
        readiness: Arc::new(MockReadiness::new()),
        ids: Arc::new(ids),
        clock: Arc::new(MockClock::new()),
        rules: Arc::new(rules),
        trials: Arc::new(MockRuleTrials::new()),
    };
    let options = HttpOptions {
        max_content: 1 << 20,
        content_per_proposal: None,
        is_open_to_all: false,
        caller_rate: None,
        address_rate: None,
        trusted_proxies: Vec::new(),
        audit_log: None,
        access_log: None,
        metrics: Arc::default(),
        tracer: None,
        base_url: "http://example.org".parse().unwrap(),
        max_body: 1024,
        max_import: 1 << 20,
        temp_dir: std::env::temp_dir(),
        body_timeout: Duration::from_secs(9),
        request_timeout: Duration::from_secs(9),
        requires_condition: false,
        max_streams: 1,
        stream_max_age: Duration::from_secs(9),
        is_leaving: tokio::sync::watch::channel(false).1,
        key_lifetime: Duration::from_hours(24),
        cors_origins: Vec::new(),
        allowed_hosts: Vec::new(),
        rule_schema: String::new(),
        deployment: Deployment {
            version: "1",
            engine: "none",
            reload_failed: tokio::sync::watch::channel(BTreeSet::new()).1,
            labels: Arc::new(application::OwnLabels::default()),
            time_zone: jiff::tz::TimeZone::UTC,
        },
    };
    (ports, options)
}

fn described(asks: Asks) -> String {
    match asks {
        Asks::Nothing => "nothing".to_owned(),
        Asks::Anybody => "anybody".to_owned(),
        Asks::SignedIn => "a known caller".to_owned(),
        Asks::SomeRead => "to read something".to_owned(),
        Asks::Operations(group, operations) => {
            let names: Vec<_> = operations.iter().map(|operation| operation.name()).collect();
            let below = group.parent().map(|parent| parent.collection.name());
            let below = below.map(|parent| format!(", read of {parent}")).unwrap_or_default();
            format!("{} of {}{below}", names.join(" "), group.collection.name())
        }
    }
}

/// Folders of pages that say nothing of items.
const PAGES: [&str; 4] = ["/assets/", "/guide/", "/problems/", "/rels/"];

/// A path without what differs by group or by page: what is alike asks the same.
fn generalized(line: &str) -> String {
    let (method, path) = line.split_once(' ').unwrap();
    if let Some(folder) = PAGES.iter().find(|folder| path.starts_with(**folder)) {
        let (_, asks) = path.split_once(": ").unwrap();
        return format!("{method} {folder}*: {asks}");
    }
    let mut names = Collection::names();
    names.sort_unstable_by_key(|name| std::cmp::Reverse(name.len()));
    names.iter().fold(line.to_owned(), |line, name| line.replace(name, "GROUP"))
}

#[tokio::test]
async fn every_path_asks_what_the_table_says() {
    let (ports, options) = mocked(MockItemRepository::new());
    let base_url = Arc::new(options.base_url.clone());
    let mut lines = BTreeSet::new();
    for (path, router) in paths(&ports, options, &base_url) {
        for (method, asks) in router.asked() {
            let line = generalized(&format!("{method} {path}: {}", described(asks)));
            let (method, rest) = line.split_once(' ').unwrap();
            lines.insert((rest.to_owned(), method.to_owned()));
        }
    }
    let lines: Vec<_> = lines.iter().map(|(rest, method)| format!("{method} {rest}")).collect();
    let table: Vec<_> = include_str!("paths.txt").lines().collect();
    assert_eq!(lines, table, "mounted now:\n{}", lines.join("\n"));
}
