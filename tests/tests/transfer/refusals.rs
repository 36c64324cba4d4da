//! Exports that are not whole, not in order or not wanted are refused with the line and the fix, and nothing
//! of it is stored.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tests::Service;
use tests::stores::TestDatabase;
use tests::tool::{done, error_of, refused, tool};

use crate::history::fill;

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A small export, and stores of both kinds to import it into.
struct Export {
    lines: Vec<String>,
    folder: tempfile::TempDir,
}

impl Export {
    fn new(items: usize) -> Self {
        let database = TestDatabase::sqlite();
        fill(&database, items);
        let export =
            String::from_utf8(done(&["export", "--database-url", database.url()])).unwrap();
        Self {
            lines: export.lines().map(str::to_owned).collect(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A file of lines.
    fn file(&self, lines: &[String]) -> String {
        let file = self.folder.path().join("export");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// The lines after a change to one of them.
    fn with(&self, line: usize, change: impl Fn(&str) -> String) -> Vec<String> {
        let mut lines = self.lines.clone();
        lines[line - 1] = change(&lines[line - 1]);
        lines
    }

    /// Asserts that lines are refused, by both kinds of store and by a dry run, and that nothing
    /// was stored.
    #[track_caller]
    fn refuses(&self, lines: &[String], words: &[&str]) -> String {
        let file = self.file(lines);
        let mut said = String::new();
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            said = refused(&["import", &file, "--database-url", database.url()], 1);
            assert!(
                said.starts_with(
                    "proposal-service: nothing was stored, because the file is refused:"
                ),
                "{said}"
            );
            assert!(words.iter().all(|word| said.contains(word)), "{words:?} in:\n{said}");
            assert_eq!(
                refused(
                    &["import", "--dry-run", &file, "--database-url", TestDatabase::sqlite().url()],
                    1
                ),
                said
            );
            is_empty(&database);
        }
        said
    }

    /// The number of the first line that has all these strings, behind those of the programme.
    fn line_with(&self, strings: &[&str]) -> usize {
        let has_all = |line: &String| strings.iter().all(|string| line.contains(string));
        4 + self.lines[3..].iter().position(has_all).unwrap()
    }
}

/// Nothing was stored, whether or not there are tables.
#[track_caller]
fn is_empty(database: &TestDatabase) {
    done(&["migrate", "--database-url", database.url()]);
    for table in ["items", "changes", "totals"] {
        assert_eq!(
            database.query(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}")),
            [[Some("0".to_owned())]],
            "{table}"
        );
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let export = Export::new(60);
    let count = export.lines.len();
    export.refuses(&export.lines[..count - 1], &["was cut off", &format!("line {}:", count - 1)]);
    export.refuses(&export.lines[..1], &["line 1:", "was cut off"]);
    let mut halved = export.lines[..count / 2].to_vec();
    halved[count / 2 - 1].truncate(40);
    export.refuses(&halved, &[&format!("line {}: column", count / 2), "was cut off"]);
    let mut shorter = export.lines.clone();
    shorter.remove(export.line_with(&["\"version\":1,"]) - 1);
    export.refuses(&shorter, &["line "]);
}

#[test]
fn a_file_that_was_altered_is_refused() {
    let export = Export::new(60);
    let line = export.line_with(&["Número"]);
    export.refuses(
        &export.with(line, |line| line.replacen("Número", "Numero", 1)),
        &["the checksum is not that", "export again"],
    );
    let mut longer = export.lines.clone();
    longer.push(String::new());
    export.refuses(&longer, &["something follows the line that counts"]);
}

#[test]
fn each_wrong_line_is_reported_with_its_fix() {
    let export = Export::new(60);
    let numbered = |line: usize| format!("line {line}: ");
    for (before, after, words) in [
        ("\"group\":\"files\"", "\"group\":\"fils\"", "`group` is \"fils\"; it must be one of"),
        (
            "\"kind\":\"replaced\"",
            "\"kind\":\"changed\"",
            "`kind` is \"changed\"; it must be one of",
        ),
        ("\"item_id\":\"", "\"item_id\":\"0", "it must be a UUID"),
        ("\"members\":{\"", "\"members\":{\"a\":1,\"a\":2,\"", "the member \"a\" stands twice"),
        (
            "\"members\":{\"",
            "\"members\":{\"a\":\"\\u0000\",\"",
            "`members/a`: the character U+0000",
        ),
        ("\"sequence\":9,", "\"sequence\":8,", "numbers must grow"),
        (
            "\"kind\":\"replaced\",\"time\":\"2026",
            "\"kind\":\"replaced\",\"time\":\"2025",
            "the times of an item must not go back",
        ),
        ("\"version\":1,", "\"version\":2,", "version 1 is expected"),
    ] {
        let line = export.line_with(&[before]);
        export.refuses(
            &export.with(line, |line| line.replacen(before, after, 1)),
            &[&numbered(line), words],
        );
    }
    // Of lines that create: an item keeps both while it exists.
    for (group, member, words) in [
        ("", "continues", "no earlier line creates"),
        ("\"group\":\"lib\"", "parent", "does not exist there as an item of `proposals`"),
    ] {
        let before = format!("\"{member}\":null");
        let after = format!("\"{member}\":\"01890a5d-ac96-774b-bcce-b302099a8050\"");
        let line = export.line_with(&["\"kind\":\"created\"", group, &before]);
        export.refuses(
            &export.with(line, |line| line.replacen(&before, &after, 1)),
            &[&numbered(line), words],
        );
    }
}

#[test]
fn lines_that_stand_twice_or_out_of_order_are_refused() {
    let export = Export::new(60);
    let mut twice = export.lines.clone();
    twice.insert(5, twice[4].clone());
    export.refuses(&twice, &["line 6: `sequence` 4 comes after 4"]);
    let mut version = export.lines.clone();
    version.insert(5, version[4].replacen("\"sequence\":4", "\"sequence\":5", 1));
    let change: serde_json::Value = serde_json::from_str(&version[5]).unwrap();
    let found = format!("line 6: `version` {} of", change["version"]);
    export.refuses(&version, &[&found, "stands twice"]);
    let mut swapped = export.lines.clone();
    swapped.swap(3, 4);
    export.refuses(&swapped, &["line 5:", "put the lines in their order"]);
}

#[test]
fn members_are_as_large_as_the_service_allows() {
    let export = Export::new(20);
    let file = export.file(&export.lines);
    let database = TestDatabase::sqlite();
    let said = refused(&["import", &file, "--max-body", "60", "--database-url", database.url()], 1);
    assert!(said.contains("the members are larger") && said.contains("--max-body"), "{said}");
    is_empty(&database);
    done(&["import", &file, "--max-body", "500", "--database-url", database.url()]);
}

#[test]
fn twenty_faults_are_told_and_no_more() {
    let export = Export::new(60);
    let broken: Vec<_> = export
        .lines
        .iter()
        .enumerate()
        .map(|(number, line)| if number < 2 { line.clone() } else { "{".to_owned() })
        .collect();
    let said = export.refuses(&broken, &["line 3: ", "line 22: ", "only the first 20"]);
    assert!(!said.contains("line 23"), "{said}");
}

#[test]
fn what_is_no_export_is_refused_before_the_store_is_touched() {
    let export = Export::new(10);
    let header = |text: &str| export.with(1, |_| text.to_owned());
    for (lines, words) in [
        (
            header("{\"format\":\"proposal-service-changes\",\"format_version\":4}"),
            "version 4 of the format",
        ),
        (header("id,title"), "it must begin with {\"format\""),
        (vec![String::new()], "it must begin with"),
    ] {
        let database = TestDatabase::sqlite();
        let said = refused(&["import", &export.file(&lines), "--database-url", database.url()], 1);
        assert!(
            said.contains("line 1: ") && said.contains(words) && said.lines().count() == 1,
            "{said}"
        );
        assert!(!database.file().exists());
    }
    let said = refused(
        &["import", "/nonexistent/export", "--database-url", TestDatabase::sqlite().url()],
        1,
    );
    assert!(said.contains("cannot read /nonexistent/export"), "{said}");
}

#[test]
fn a_store_that_is_not_empty_is_refused() {
    let export = Export::new(20);
    let file = export.file(&export.lines);
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        done(&["import", &file, "--database-url", database.url()]);
        for arguments in [
            ["import", &file, "--database-url", database.url()].as_slice(),
            &["import", &file, "--dry-run", "--database-url", database.url()],
        ] {
            let said = refused(arguments, 1);
            assert!(said.contains("the store is not empty") && said.lines().count() == 1, "{said}");
        }
    }
}

#[test]
fn a_file_that_is_served_is_refused() {
    let export = Export::new(20);
    let database = TestDatabase::sqlite();
    let _service = Service::start_on(&database);
    let said =
        refused(&["import", &export.file(&export.lines), "--database-url", database.url()], 1);
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn a_dry_run_says_what_would_be_stored_and_makes_nothing() {
    let export = Export::new(60);
    let file = export.file(&export.lines);
    let [missing, empty] = [TestDatabase::sqlite(), TestDatabase::postgres()];
    for database in [&missing, &empty] {
        let said = String::from_utf8(done(&[
            "import",
            "--dry-run",
            &file,
            "--database-url",
            database.url(),
        ]))
        .unwrap();
        let changes = format!(
            "an import would store {} changes; items: cashprogram ",
            export.lines.len() - 2
        );
        assert!(
            said.starts_with("nothing was stored; ")
                && said.contains(&changes)
                && said.lines().count() == 1,
            "{said}"
        );
    }
    assert_eq!(std::fs::read_dir(missing.file().parent().unwrap()).unwrap().count(), 0);
    let tables = "SELECT CAST(COUNT(*) AS TEXT) FROM information_schema.tables WHERE table_schema = 'public'";
    assert_eq!(empty.query(tables), [[Some("0".to_owned())]]);
}

#[test]
fn an_import_that_is_killed_leaves_nothing() {
    let export = Export::new(3_000);
    for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
        for signal in ["KILL", "TERM"] {
            let mut command = tool(&["import", "--database-url", database.url()]);
            let mut process = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let most = export.lines[..export.lines.len() - 1].join("\n");
            // All but the end is read, and what was read is being stored.
            let mut input = process.stdin.take().unwrap();
            input.write_all(most.as_bytes()).unwrap();
            if !database.is_sqlite() {
                wait_until(|| {
                    database.query(
                        "SELECT CAST(COUNT(*) AS TEXT) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND datname = current_database()",
                    )[0][0]
                        != Some("1".to_owned())
                });
            }
            assert!(
                std::process::Command::new("kill")
                    .args(["-s", signal, &process.id().to_string()])
                    .status()
                    .unwrap()
                    .success()
            );
            let status = process.wait().unwrap();
            assert!(!status.success());
            let mut said = String::new();
            process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(
                signal == "KILL" || said.contains("stopped by SIGTERM; nothing was stored"),
                "{said}"
            );
            drop(input);
            is_empty(&database);
        }
        done(&["import", &export.file(&export.lines), "--database-url", database.url()]);
    }
}

#[test]
fn an_export_that_cannot_be_written_leaves_no_half_file() {
    let database = TestDatabase::sqlite();
    fill(&database, 200);
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    std::fs::write(&there, "precious").unwrap();
    for (file, words) in [
        (there.as_path(), "is there already"),
        (folder.path(), "is there already"),
        (Path::new("/nonexistent/export"), "cannot write /nonexistent/export"),
        (Path::new("/proc/export"), "cannot write /proc/export"),
    ] {
        let said =
            refused(&["export", file.to_str().unwrap(), "--database-url", database.url()], 1);
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(std::fs::read(&there).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = tool(&["export", "--database-url", database.url()]).stdout(full).output().unwrap();
    assert!(error_of(&output, 1).contains("cannot write the output"));
}

#[test]
fn a_reader_that_goes_away_ends_an_export_with_a_word() {
    let database = TestDatabase::sqlite();
    fill(&database, 2_000);
    let mut process = tool(&["export", "--database-url", database.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    process.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let said = error_of(&process.wait_with_output().unwrap(), 1);
    assert!(said.contains("cannot write the output") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_log_that_was_pruned_is_not_exported() {
    let database = TestDatabase::sqlite();
    fill(&database, 100);
    rusqlite::Connection::open(database.file())
        .unwrap()
        .execute("DELETE FROM changes WHERE version = 2 AND kind <> 'deleted'", [])
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let said = refused(
        &[
            "export",
            folder.path().join("export").to_str().unwrap(),
            "--database-url",
            database.url(),
        ],
        1,
    );
    assert!(
        said.contains("the change log is not whole") && said.contains("at version 2"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn there_is_nothing_to_export_where_there_is_no_store() {
    let [file, server] = [TestDatabase::sqlite(), TestDatabase::postgres()];
    assert!(
        refused(&["export", "--database-url", file.url()], 1).contains("there is no database file")
    );
    assert!(!file.file().exists());
    assert!(refused(&["export", "--database-url", server.url()], 1).contains("holds no store"));
}

#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "it does not come to pass");
        std::thread::sleep(Duration::from_millis(10));
    }
}
