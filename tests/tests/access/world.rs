//! A service that knows its callers by keys.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::tool::done;
use tests::{Request, Service, Store};

/// The collections, in the order of the specification.
pub const GROUPS: [&str; 8] = [
    "proposedprograms",
    "gadscores",
    "statuses",
    "status",
    "proposals",
    "files",
    "lib",
    "cashprogram",
];

/// The path of a collection.
pub fn path_of(group: &str) -> String {
    if matches!(group, "lib" | "status") { format!("/{group}") } else { format!("/v1/{group}") }
}

/// The example policies of an agency.
pub fn agency_policies() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/policies/agency.yaml");
    path.to_str().unwrap().to_owned()
}

/// An identity file, and the keys that it knows.
pub struct Callers {
    folder: TempDir,
    /// Name, key and line of each.
    keys: Vec<(String, String, String)>,
}

impl Callers {
    /// Callers by name, each with roles separated by commas.
    pub fn new(callers: &[(&str, &str)]) -> Self {
        let made = callers.iter().map(|(name, roles)| {
            let mut arguments = vec!["keys", "new", name];
            if !roles.is_empty() {
                arguments.extend(["--roles", roles]);
            }
            let printed = String::from_utf8(done(&arguments)).unwrap();
            let (key, line) = printed.trim_end().split_once('\n').unwrap();
            ((*name).to_owned(), key.to_owned(), line.to_owned())
        });
        let callers = Self { keys: made.collect(), folder: tempfile::tempdir().unwrap() };
        callers.write(|_, line| Some(line.to_owned()), "");
        callers
    }

    /// Writes the file with a line for each key, which is given its name and its first line, and
    /// with further lines.
    pub fn write(&self, line_of: impl Fn(&str, &str) -> Option<String>, more: &str) {
        let lines = self.keys.iter().filter_map(|(name, _, line)| line_of(name, line));
        let lines = lines.fold(String::new(), |lines, line| lines + &line + "\n");
        let keys =
            if lines.is_empty() { "keys: []\n".to_owned() } else { format!("keys:\n{lines}") };
        // Whoever reads meanwhile sees the old file or the new one.
        let next = self.folder.path().join("next");
        fs::write(&next, format!("{keys}{more}")).unwrap();
        fs::rename(next, self.path()).unwrap();
    }

    /// The identity file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("identity.yaml")
    }

    /// The arguments that make a service know them.
    pub fn arguments(&self) -> [String; 2] {
        ["--identity".to_owned(), self.path().to_str().unwrap().to_owned()]
    }

    /// The key of a name.
    pub fn key(&self, name: &str) -> &str {
        let known = self.keys.iter().find(|(known, ..)| known == name);
        &known.unwrap_or_else(|| panic!("no key {name}")).1
    }

    /// A request with the key of a name; `nobody` sends none.
    pub fn sign(&self, name: &str, request: Request) -> Request {
        if name == "nobody" {
            return request;
        }
        request.header("authorization", format!("Bearer {}", self.key(name)))
    }

    /// Starts a service that knows them, over a fresh database.
    pub fn serve(&self, store: Store, more: &[&str]) -> Service {
        let own = self.arguments();
        let arguments = [&[own[0].as_str(), own[1].as_str()], more].concat();
        Service::start_with(store, &arguments)
    }

    /// The same over a database that is there.
    pub fn serve_on(&self, database: &TestDatabase, more: &[&str]) -> Service {
        let own = self.arguments();
        let arguments = [&[own[0].as_str(), own[1].as_str()], more].concat();
        Service::start_on_with(database, &arguments)
    }
}

/// Runs a test on both kinds of store; the output of a failing test names the store.
pub fn on_each_store(test: impl Fn(Store)) {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(store);
    }
}

/// A fresh database.
pub fn database(store: Store) -> TestDatabase {
    match store {
        Store::Sqlite => TestDatabase::sqlite(),
        Store::Postgres => TestDatabase::postgres(),
    }
}
