//! Incomplete, reordered or unwanted exports are refused as a whole, with the line and the correction.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tests::stores::TestDatabase;
use tests::tool::{done, error_of, refused, tool};
use tests::{Service, wait_until};

use crate::history::fill;

/// A small export, and a folder for files made of it.
struct Export {
    lines: Vec<String>,
    folder: TempDir,
}

impl Export {
    fn new(items: usize) -> Self {
        let database = TestDatabase::sqlite();
        fill(&database, items);
        let export = done(&["export", "--database-url", database.url()]);
        let lines = String::from_utf8(export).unwrap().lines().map(str::to_owned).collect();
        Self { lines, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, lines: &[String]) -> String {
        let file = self.folder.path().join("export");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// The lines after a change to one of them.
    fn with(&self, line: usize, before: &str, after: &str) -> Vec<String> {
        let mut lines = self.lines.clone();
        lines[line - 1] = lines[line - 1].replacen(before, after, 1);
        lines
    }

    /// Asserts that both kinds of store and a dry run refuse the lines, and that the stores stay empty.
    #[track_caller]
    fn refuses(&self, lines: &[String], words: &[&str]) -> String {
        let file = self.file(lines);
        let mut said = String::new();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            said = refused(&["import", &file, "--database-url", database.url()], 1);
            let refusal = "proposal-service: the file was refused and no change was stored:";
            assert!(said.starts_with(refusal), "{said}");
            assert!(words.iter().all(|word| said.contains(word)), "{words:?} in:\n{said}");
            is_empty(&database);
        }
        let unused = TestDatabase::sqlite();
        let dry_run = ["import", "--dry-run", &file, "--database-url", unused.url()];
        assert_eq!(refused(&dry_run, 1), said);
        said
    }

    /// The number of the first line with all these strings, after those of the programme.
    fn line_with(&self, strings: &[&str]) -> usize {
        let has_all = |line: &String| strings.iter().all(|string| line.contains(string));
        4 + self.lines[3..].iter().position(has_all).unwrap()
    }
}

/// Asserts that the database is empty, with or without tables.
#[track_caller]
fn is_empty(database: &TestDatabase) {
    done(&["migrate", "--database-url", database.url()]);
    for table in ["items", "changes", "totals"] {
        let count = database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}"));
        assert_eq!(count, [[Some("0".to_owned())]], "{table}");
    }
}

#[test]
fn a_truncated_altered_or_reordered_file_is_refused() {
    let export = Export::new(60);
    let lines = &export.lines;
    let count = lines.len();
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        lines
    };
    let half = count / 2;
    let creation = export.line_with(&["\"version\":1,"]) - 1;
    let version = changed(&|lines| {
        lines.insert(5, lines[4].replacen("\"sequence\":4", "\"sequence\":5", 1));
    });
    let found: serde_json::Value = serde_json::from_str(&version[5]).unwrap();
    for (lines, words) in [
        (lines[..count - 1].to_vec(), [&*format!("line {}:", count - 1), "it is truncated"]),
        (lines[..1].to_vec(), ["line 1:", "it is truncated"]),
        (
            changed(&|lines| {
                lines.truncate(half);
                lines[half - 1].truncate(40);
            }),
            [&format!("line {half}: column"), "it is truncated"],
        ),
        (changed(&|lines| drop(lines.remove(creation))), ["line ", ""]),
        (
            export.with(export.line_with(&["Número"]), "Número", "Numero"),
            ["the checksum does not match", "export again"],
        ),
        (
            changed(&|lines| lines.push(String::new())),
            ["unexpected text after the line that counts", ""],
        ),
        (
            changed(&|lines| lines.insert(5, lines[4].clone())),
            ["line 6: `sequence` 4 comes after 4", ""],
        ),
        (changed(&|lines| lines.swap(3, 4)), ["line 5:", "restore the order of the lines"]),
    ] {
        export.refuses(&lines, &words);
    }
    let found = format!("is {} instead of", found["version"]);
    export.refuses(&version, &["line 6: `version` of", &found, "is duplicated"]);
    let broken = changed(&|lines| lines[2..].fill("{".to_owned()));
    let said = export.refuses(&broken, &["line 3: ", "line 22: ", "only the first 20"]);
    assert!(!said.contains("line 23"), "{said}");
}

#[test]
fn each_wrong_line_is_reported_with_its_fix() {
    const REPLACED: &str = "\"kind\":\"replaced\"";
    const MEMBERS: &str = "\"members\":{\"";
    const ID: &str = "\"01890a5d-ac96-774b-bcce-b302099a8050\"";
    let export = Export::new(60);
    let (continues, parent) = ("\"continues\":null", "\"parent\":null");
    let [before, after] = ["2026", "2025"].map(|year| format!("{REPLACED},\"time\":\"{year}"));
    for (context, before, after, words) in [
        ("", "\"group\":\"files\"", "\"group\":\"fils\"", "`group` is \"fils\" but must be one of"),
        ("", REPLACED, "\"kind\":\"changed\"", "`kind` is \"changed\" but must be one of"),
        ("", "\"item_id\":\"", "\"item_id\":\"0", "must be a UUID"),
        ("", MEMBERS, "\"members\":{\"a\":\"\\u0000\",\"", "`members/a`: U+0000"),
        (
            "",
            MEMBERS,
            "\"members\":{\"a\":1,\"a\":2,\"",
            "the member \"a\" is given more than once",
        ),
        ("", "\"sequence\":9,", "\"sequence\":8,", "numbers must increase"),
        ("", &before, &after, "the time of the previous version"),
        ("", "\"version\":1,", "\"version\":2,", "instead of 1"),
        // An item keeps these links, so only a creation can be wrong.
        (
            "\"kind\":\"created\"",
            continues,
            &continues.replace("null", ID),
            "no earlier line creates",
        ),
        (
            "\"group\":\"lib\",\"kind\":\"created\"",
            parent,
            &parent.replace("null", ID),
            "does not exist at this line as an item of `proposals`",
        ),
    ] {
        let contexts = context.split(',').chain([before]).collect::<Vec<_>>();
        let line = export.line_with(&contexts);
        let lines = export.with(line, before, after);
        export.refuses(&lines, &[&format!("line {line}: "), words]);
    }
}

#[test]
fn members_are_as_large_as_the_service_allows() {
    let export = Export::new(20);
    let file = export.file(&export.lines);
    let database = TestDatabase::sqlite();
    let said = refused(&["import", &file, "--max-body", "60", "--database-url", database.url()], 1);
    let is_named = said.contains("the members exceed the size limit");
    assert!(is_named && said.contains("--max-body"), "{said}");
    is_empty(&database);
    done(&["import", &file, "--max-body", "500", "--database-url", database.url()]);
}

#[test]
fn a_file_that_is_not_an_export_is_refused_before_database_access() {
    let export = Export::new(10);
    let database = TestDatabase::sqlite();
    for (header, words) in [
        ("{\"format\":\"proposal-service-changes\",\"format_version\":4}", "format version 4"),
        ("id,title", "it must begin with {\"format\""),
        ("", "it must begin with"),
    ] {
        let file = export.file(&export.with(1, &export.lines[0], header));
        let said = refused(&["import", &file, "--database-url", database.url()], 1);
        let is_named = said.contains("line 1: ") && said.contains(words);
        assert!(is_named && said.lines().count() == 1, "{said}");
        assert!(!database.file().exists());
    }
    let missing = ["import", "/nonexistent/export", "--database-url", database.url()];
    assert!(refused(&missing, 1).contains("cannot read /nonexistent/export"));
}

#[test]
fn a_store_that_is_not_empty_or_served_is_refused() {
    let export = Export::new(20);
    let file = export.file(&export.lines);
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        let import = ["import", &file, "--database-url", database.url()];
        done(&import);
        for arguments in [&import[..], &[&import[..], &["--dry-run"]].concat()] {
            let said = refused(arguments, 1);
            assert!(said.contains("the store is not empty") && said.lines().count() == 1, "{said}");
        }
    }
    let database = TestDatabase::sqlite();
    let _service = Service::start_on(&database);
    let said = refused(&["import", &file, "--database-url", database.url()], 1);
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn a_dry_run_reports_the_changes_and_creates_nothing() {
    let export = Export::new(60);
    let file = export.file(&export.lines);
    let [missing, empty] = [TestDatabase::sqlite(), TestDatabase::postgres()];
    for database in [&missing, &empty] {
        let said = done(&["import", "--dry-run", &file, "--database-url", database.url()]);
        let said = String::from_utf8(said).unwrap();
        let count = export.lines.len() - 2;
        let changes = format!("an import would store {count} changes; items: cashprogram ");
        let is_complete = said.starts_with("dry run: ") && said.contains(&changes);
        assert!(is_complete && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read_dir(missing.file().parent().unwrap()).unwrap().count(), 0);
    let tables = "SELECT CAST(COUNT(*) AS TEXT) FROM information_schema.tables WHERE table_schema = 'public'";
    assert_eq!(empty.query(tables), [[Some("0".to_owned())]]);
}

#[test]
fn an_import_that_is_killed_leaves_nothing() {
    const TRANSACTIONS: &str = "SELECT CAST(COUNT(*) AS TEXT) FROM pg_stat_activity \
        WHERE xact_start IS NOT NULL AND datname = current_database()";
    let export = Export::new(3_000);
    let most = export.lines[..export.lines.len() - 1].join("\n");
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        for signal in ["KILL", "TERM"] {
            let mut command = tool(&["import", "--database-url", database.url()]);
            let mut process = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            // All lines but the end are read, and are being stored.
            let mut input = process.stdin.take().unwrap();
            input.write_all(most.as_bytes()).unwrap();
            if !database.is_sqlite() {
                wait_until(|| database.query(TRANSACTIONS)[0][0].as_deref() != Some("1"));
            }
            let id = process.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            let output = process.wait_with_output().unwrap();
            assert!(!output.status.success());
            let said = String::from_utf8(output.stderr).unwrap();
            let stopped = "stopped by SIGTERM; no change was stored";
            assert!(signal == "KILL" || said.contains(stopped), "{said}");
            drop(input);
            is_empty(&database);
        }
        done(&["import", &export.file(&export.lines), "--database-url", database.url()]);
    }
}

#[test]
fn an_export_that_cannot_be_written_leaves_no_incomplete_file() {
    let database = TestDatabase::sqlite();
    fill(&database, 2_000);
    let folder = tempfile::tempdir().unwrap();
    let existing = folder.path().join("existing");
    std::fs::write(&existing, "precious").unwrap();
    for (file, words) in [
        (existing.to_str().unwrap(), "already exists"),
        (folder.path().to_str().unwrap(), "already exists"),
        ("/nonexistent/export", "cannot write /nonexistent/export"),
        ("/proc/export", "cannot write /proc/export"),
    ] {
        let said = refused(&["export", file, "--database-url", database.url()], 1);
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read(&existing).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A full device, and a reader that closes the pipe.
    let mut export = tool(&["export", "--database-url", database.url()]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let filled = export.stdout(full).output().unwrap();
    let mut process = export.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    process.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    for output in [filled, process.wait_with_output().unwrap()] {
        let said = error_of(&output, 1);
        assert!(said.contains("cannot write the output") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn an_incomplete_or_missing_store_is_not_exported() {
    let [pruned, missing, empty] =
        [TestDatabase::sqlite(), TestDatabase::sqlite(), TestDatabase::postgres()];
    fill(&pruned, 100);
    let prune = "DELETE FROM changes WHERE version = 2 AND kind <> 'deleted'";
    rusqlite::Connection::open(pruned.file()).unwrap().execute(prune, []).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export");
    for (database, words) in [
        (&pruned, "the change log is incomplete: version 2 of"),
        (&missing, "does not exist"),
        (&empty, "contains no store"),
    ] {
        let export = ["export", file.to_str().unwrap(), "--database-url", database.url()];
        let said = refused(&export, 1);
        assert!(said.contains(words), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    assert!(!missing.file().exists());
}
