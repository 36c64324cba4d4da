//! Every file with SQL is prepared on its engine, and leads through indexes: on empty tables, on which a
//! plan may be made that is kept, and on filled ones.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::{Batch, Connection};
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Row as _, raw_sql};
use tests::stores::TestDatabase;

use crate::plans::fill;
use crate::store::TestStore;

on_both_stores! {
    ; postgres_alone: files_of_postgres_lead_through_indexes
}

const ROWS: u64 = 20_000;

/// Files that read all items or changes, with the reasons.
const SCANS: [(&str, &str); 4] = [
    ("both/migration/check_tables", "reads no row"),
    ("both/transfer/import_totals", "counts everything once"),
    ("both/write/item_versions", "reads a whole collection, on connections that do not scan"),
    ("postgres/transfer/import_end", "reads the log once"),
];

/// Files whose statements are executed one by one, split at each semicolon.
const SPLIT: [&str; 5] = [
    "sqlite/write/insert",
    "sqlite/write/update",
    "sqlite/write/delete",
    "sqlite/index/words",
    "postgres/index/words",
];

struct SqlFile {
    /// As in `both/read/version`.
    name: String,
    text: String,
}

fn storage() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../adapters/storage")
}

/// The files of some folders and of those below.
fn files(folders: &[&str]) -> Vec<SqlFile> {
    let mut files = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(storage().join("sql").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_stem().unwrap().display());
            if path.is_dir() {
                files.extend(self::files(&[&name]));
            } else {
                files.push(SqlFile { name, text: fs::read_to_string(path).unwrap() });
            }
        }
    }
    files
}

/// The Rust code of the crate.
fn code(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            self::code(&path, code);
        } else {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn each_file_is_used_and_names_its_parameters_and_its_result() {
    let mut rust = String::new();
    code(&storage().join("src"), &mut rust);
    for SqlFile { name, text } in files(&["both", "sqlite", "postgres"]) {
        let (folder, file) = name.split_once('/').unwrap();
        let by_path = rust.contains(&format!("sql_file!(\"{name}\")"));
        let by_dialect = folder != "both" && rust.contains(&format!("dialect, \"{file}\")"));
        assert!(by_path || by_dialect, "{name} is not used");
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        let header = header.join("\n");
        let is_split = SPLIT.contains(&&*name);
        let mut comments = text.lines().filter(|line| line.contains("--"));
        assert!(
            !is_split || !comments.any(|line| line.contains(';')),
            "{name}: a comment is split"
        );
        let is_script = file == "schema";
        let is_complete = header.contains("Parameters: ") && header.contains("Result: ");
        assert!(!header.is_empty() && (is_script || is_complete), "{name}: {header}");
    }
}

#[test]
fn files_of_sqlite_lead_through_indexes() {
    let database = Connection::open_in_memory().unwrap();
    let mut files = files(&["both", "sqlite"]);
    let schema = files.iter().position(|file| file.name == "sqlite/schema").unwrap();
    database.execute_batch(&files.swap_remove(schema).text).unwrap();
    let mut scans = Vec::new();
    for SqlFile { name, text } in files {
        let mut statements = Batch::new(&database, &text);
        while let Some(statement) =
            statements.next().unwrap_or_else(|error| panic!("{name}: {error}"))
        {
            let text = statement.expanded_sql().unwrap();
            let mut plan = database.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
            let steps = plan.query_map([], |row| row.get::<_, String>("detail")).unwrap();
            let steps: Vec<_> = steps.map(Result::unwrap).collect();
            let is_scan = |step: &String| {
                let row = step.strip_prefix("SCAN ").and_then(|row| row.split(' ').next());
                row.is_some_and(|row| is_large(row, &text))
            };
            if steps.iter().any(is_scan) && !may_scan(&name) {
                scans.push(format!("{name}: {steps:?}"));
            }
        }
    }
    assert!(scans.is_empty(), "{scans:#?}");
}

/// Returns whether a name in a statement is that of a large table.
fn is_large(row: &str, text: &str) -> bool {
    let mut tables = ["items", "changes"].into_iter();
    tables.any(|table| row == table || text.contains(&format!("{table} {row}")))
}

fn may_scan(name: &str) -> bool {
    SCANS.iter().any(|(file, _)| *file == name)
}

async fn files_of_postgres_lead_through_indexes() {
    let store = TestStore::open(TestDatabase::postgres()).await;
    explain_all(&store, "off").await;
    fill(&store, ROWS);
    let _ = store.database.query("VACUUM ANALYZE");
    explain_all(&store, "on").await;
}

/// Runs the scripts, and explains the generic plans of the others.
async fn explain_all(store: &TestStore, setting: &str) {
    let mut scans = Vec::new();
    let mut connection = AnyConnection::connect(store.database.url()).await.unwrap();
    let settings = format!(
        "SET enable_seqscan = {setting}; SET plan_cache_mode = force_generic_plan; SET jit = off"
    );
    raw_sql(AssertSqlSafe(settings)).execute(&mut connection).await.unwrap();
    for SqlFile { name, text } in files(&["both", "postgres"]) {
        if name == "postgres/schema" {
            continue;
        }
        if without_header(&text).contains(';') {
            let script = format!("BEGIN; {text}; ROLLBACK");
            let done = raw_sql(AssertSqlSafe(script)).execute(&mut connection).await;
            let _ = done.unwrap_or_else(|error| panic!("{name}: {error}"));
            continue;
        }
        let is_parameter = |number: &usize| text.contains(&format!("${number}"));
        let nulls: Vec<_> = (1..=20).take_while(is_parameter).map(|_| "NULL").collect();
        let nulls =
            if nulls.is_empty() { String::new() } else { format!("({})", nulls.join(", ")) };
        let prepare = format!("DEALLOCATE ALL; PREPARE file AS {text}");
        let prepared = raw_sql(AssertSqlSafe(prepare)).execute(&mut connection).await;
        let _ = prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
        let explain = format!("EXPLAIN (COSTS OFF) EXECUTE file {nulls}");
        let plan = raw_sql(AssertSqlSafe(explain)).fetch_all(&mut connection).await;
        let plan = plan.unwrap_or_else(|error| panic!("{name}: {error}"));
        let steps: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let is_scan = |step: &String| {
            ["Seq Scan on items", "Seq Scan on changes"].iter().any(|scan| step.contains(scan))
        };
        if steps.iter().any(is_scan) && !may_scan(&name) {
            scans.push(format!("{name}: {steps:?}"));
        }
    }
    assert!(scans.is_empty(), "enable_seqscan = {setting}: {scans:#?}");
}

fn without_header(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("--")).collect()
}
