//! The memory use of copies does not grow with the store.

use std::fs::File;
use std::process::Command;

use tests::stores::TestDatabase;
use tests::tool::{done, peak_memory, tool};

use crate::history::fill_with_large;

const ITEMS: usize = 10_000;
const BYTES: usize = 20_000;

/// Half of the copied bytes.
const MOST: u64 = 100_000_000;

#[test]
fn export_and_import_need_no_more_memory_for_more_items() {
    let [original, file_copy, server_copy] =
        [TestDatabase::sqlite(), TestDatabase::sqlite(), TestDatabase::postgres()];
    fill_with_large(&original, ITEMS, BYTES);
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export");
    let peak = |command: &mut Command| {
        let mut process = command.spawn().unwrap();
        let peak = peak_memory(&mut process);
        assert!(process.wait().unwrap().success());
        peak
    };
    let peak_of_export = |from: &TestDatabase| {
        peak(tool(&["export", "--database-url", from.url()]).stdout(File::create(&export).unwrap()))
    };
    let peak_of_import = |to: &TestDatabase| {
        peak(tool(&["import", "--database-url", to.url()]).stdin(File::open(&export).unwrap()))
    };
    let export_of_file = peak_of_export(&original);
    assert!(export.metadata().unwrap().len() > 200_000_000);
    let peaks = [
        ("export of SQLite", export_of_file),
        ("import into SQLite", peak_of_import(&file_copy)),
        ("import into PostgreSQL", peak_of_import(&server_copy)),
        ("export of PostgreSQL", peak_of_export(&server_copy)),
    ];
    println!("{peaks:?}");
    for (command, peak) in peaks {
        assert!(peak > 1_000_000 && peak < MOST, "{command}: {peak} bytes");
    }
}

#[test]
fn an_endless_line_is_not_kept_in_memory() {
    let [original, copy] = [TestDatabase::sqlite(), TestDatabase::sqlite()];
    fill_with_large(&original, 1, 10);
    let mut lines = done(&["export", "--database-url", original.url()]);
    let header = lines.iter().position(|byte| *byte == b'\n').unwrap();
    lines.truncate(header + 1);
    lines.resize(200_000_000, b' ');
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("export"), folder.path().join("log"));
    std::fs::write(&file, lines).unwrap();
    let mut command =
        tool(&["import", "--dry-run", file.to_str().unwrap(), "--database-url", copy.url()]);
    let peak = peak_memory(&mut command.stderr(File::create(&log).unwrap()).spawn().unwrap());
    let said = std::fs::read_to_string(&log).unwrap();
    let is_named = said.contains("line 2: the members exceed the size limit");
    assert!(is_named && said.contains("--max-body"), "{said}");
    assert!(peak < MOST, "{peak} bytes");
}
