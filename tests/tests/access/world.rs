//! A service that knows its callers by keys.

use std::fs;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::tool::done;
use tests::{Answer, Request, Service, Store};
use zip::ZipArchive;

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

/// The example policies of an agency.
pub const AGENCY: &str = include_str!("../../../docs/examples/policies/agency.yaml");

/// A proposal of `--demo`, with a library.
pub const DEMO_PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";

pub const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rice test kit"}"#;

/// Ten times the bound within which a change of a file is in force: machines are slow at times.
pub const PATIENCE: Duration = Duration::from_secs(50);

#[track_caller]
pub fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        sleep(Duration::from_millis(20));
    }
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
        callers.write(|_| true, "");
        callers
    }

    /// Writes the identity file with the keys of the names that `is_kept` accepts, and more lines.
    pub fn write(&self, is_kept: impl Fn(&str) -> bool, more: &str) {
        let kept = self.keys.iter().filter(|(name, ..)| is_kept(name));
        let lines = kept.fold(String::new(), |lines, (_, _, line)| lines + line + "\n");
        let keys =
            if lines.is_empty() { "keys: []\n".to_owned() } else { format!("keys:\n{lines}") };
        self.write_file("identity.yaml", &format!("{keys}{more}"));
    }

    /// Replaces a file next to the identity file, so that readers see the old content or the new one;
    /// returns its path.
    pub fn write_file(&self, name: &str, text: &str) -> String {
        let (next, path) = (self.path("next"), self.path(name));
        fs::write(&next, text).unwrap();
        fs::rename(next, &path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The arguments that make a service know them.
    pub fn arguments(&self) -> [String; 2] {
        ["--identity".to_owned(), self.path("identity.yaml").to_str().unwrap().to_owned()]
    }

    /// The key of a name.
    pub fn key(&self, name: &str) -> &str {
        let known = self.keys.iter().find(|(known, ..)| known == name);
        &known.unwrap_or_else(|| panic!("no key {name}")).1
    }

    /// A request with the key of a name; `anonymous` sends none.
    pub fn sign(&self, name: &str, request: Request) -> Request {
        if name == "anonymous" {
            return request;
        }
        request.header("authorization", format!("Bearer {}", self.key(name)))
    }

    /// Starts a service that knows them, over a fresh database.
    pub fn serve(&self, store: Store, more: &[&str]) -> Service {
        let own = self.arguments();
        Service::start_with(store, &[&own.each_ref().map(String::as_str)[..], more].concat())
    }
}

/// A service under policies, and the callers that it knows.
pub struct World {
    pub callers: Callers,
    pub service: Service,
}

impl World {
    pub fn new(store: Store, callers: &[(&str, &str)], policies: &str, more: &[&str]) -> Self {
        Self::of(Callers::new(callers), store, policies, more)
    }

    pub fn with_rules(store: Store, callers: &[(&str, &str)], policies: &str, rules: &str) -> Self {
        let callers = Callers::new(callers);
        let rules = callers.write_file("rules.yaml", rules);
        Self::of(callers, store, policies, &["--rules", &rules])
    }

    fn of(callers: Callers, store: Store, policies: &str, more: &[&str]) -> Self {
        let policies = callers.write_file("policies.yaml", policies);
        let service = callers.serve(store, &[&["--policies", &policies], more].concat());
        Self { callers, service }
    }

    #[track_caller]
    pub fn send(&self, name: &str, request: Request) -> Answer {
        self.callers.sign(name, request).send()
    }

    #[track_caller]
    pub fn get(&self, name: &str, path: &str) -> Answer {
        self.send(name, self.service.get(path)).expect(200)
    }

    #[track_caller]
    pub fn create(&self, name: &str, collection: &str, body: &str) -> Answer {
        self.send(name, self.service.post(collection).json(body)).expect(201)
    }

    /// Puts other policies in force.
    pub fn reload(&self, policies: &str, is_in_force: impl Fn() -> bool) {
        self.callers.write_file("policies.yaml", policies);
        self.service.hang_up();
        soon("a reload", is_in_force);
    }
}

/// Runs a test on both kinds of store; the output of a failing test names the store.
pub fn on_each_store(test: impl Fn(Store)) {
    for store in [Store::Sqlite, Store::Postgres] {
        println!("on {store:?}:");
        test(store);
    }
}

/// All text in a workbook.
pub fn text_of(workbook: &[u8]) -> String {
    let mut parts = ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut text = String::new();
    for index in 0..parts.len() {
        parts.by_index(index).unwrap().read_to_string(&mut text).unwrap();
    }
    text
}
