//! A service over a `PostgreSQL` store of a given size.

use std::collections::BTreeMap;

use tests::stores::TestDatabase;
use tests::{Item, Service};

use crate::examined::{LOG, explain};

const FILL: &str = include_str!("fill.sql");

/// The groups, and the addresses of their collections.
pub const GROUPS: [(&str, &str); 8] = [
    ("proposals", "/v1/proposals"),
    ("gadscores", "/v1/gadscores"),
    ("files", "/v1/files"),
    ("lib", "/lib"),
    ("cashprogram", "/v1/cashprogram"),
    ("status", "/status"),
    ("proposedprograms", "/v1/proposedprograms"),
    ("statuses", "/v1/statuses"),
];

/// How many items of each group belong to the proposal that was written by requests.
const CHILDREN: usize = 12;

pub const VERSIONS: usize = 12;

pub struct FilledService {
    pub service: Service,
    pub items: u64,
    /// An item of each group that was written by requests, with [`VERSIONS`] versions.
    pub written: BTreeMap<&'static str, Item>,
    // Dropped last: the service uses it.
    _database: TestDatabase,
}

impl FilledService {
    pub fn start(items: u64) -> Self {
        let database = TestDatabase::postgres();
        drop(Service::start_on(&database));
        database.set("maintenance_work_mem", "'256MB'");
        for statement in FILL.replace("{items}", &items.to_string()).split(";\n") {
            if !statement.trim().is_empty() {
                let _ = database.query(statement);
            }
        }
        let _ = database.query("VACUUM ANALYZE");
        explain(&database);
        let service = Service::start_on_with(&database, &LOG);
        let written = write(&service);
        let filled = Self { service, items, written, _database: database };
        (1..VERSIONS).for_each(|version| filled.change_all(version));
        filled
    }

    /// Changes an item of each group, so that no page of them is known.
    pub fn change_all(&self, version: usize) {
        for (group, item) in &self.written {
            let member = if *group == "proposals" { "project_description" } else { "note" };
            self.service.change(&item.path, format!(r#"{{"{member}":"version {version}"}}"#));
        }
        // A search waits until all is indexed.
        self.service.list("/v1/proposals", "q=target");
    }
}

fn write(service: &Service) -> BTreeMap<&'static str, Item> {
    let program = service.create("/v1/proposedprograms", r#"{"title":"target"}"#);
    let proposal = format!(
        r#"{{"proposal_type":"R&D Project","project_title":"target","program_id":"{}","start_date":"2026-01-01"}}"#,
        program.id
    );
    let proposal = service.create("/v1/proposals", &proposal);
    let status = service.create("/v1/statuses", r#"{"label":"target","code":"target"}"#);
    let library = format!("{}/lib", proposal.path);
    let mut written = BTreeMap::from([("statuses", status), ("proposedprograms", program)]);
    for _ in 0..CHILDREN {
        let item = service.create(&library, r#"{"title":"target","expense_class":"PS"}"#);
        written.insert("lib", Item { path: format!("/lib/{}", item.id), ..item });
        for (group, path) in GROUPS
            .iter()
            .filter(|(group, _)| ["gadscores", "files", "cashprogram", "status"].contains(group))
        {
            let id = &proposal.id;
            let body = format!(
                r#"{{"proposal_id":"{id}","subject":"{id}","message":"target","filename":"target","rating":"promising","year":2027}}"#
            );
            written.insert(group, service.create(path, &body));
        }
    }
    written.insert("proposals", proposal);
    written
}
