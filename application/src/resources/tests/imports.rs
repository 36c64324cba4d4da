//! An import of many rows gives way to other requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::{Violations, WriteOperation};
use futures_lite::future::zip;

use super::{LARGEST, WRITE, files, members, stored};
use crate::ports::{Answered, MockItemRepository};
use crate::{
    Caller, IdempotencyKey, Import, ImportMode, ImportRow, Imported, RepositoryError, RowContent,
    RowMembers, WriteOptions,
};

/// Rows of an import, many more than another request may wait for.
const ROWS: u64 = 1_000;

/// Rows that another request may wait for.
const MOST_ROWS: usize = 64;

fn import(mode: ImportMode, text: &str) -> Import {
    let members = members(&format!(r#"{{"a":"{text}"}}"#));
    let row = |number| ImportRow {
        number,
        line: None,
        content: Ok(RowContent {
            id: None,
            version: None,
            parent: None,
            members: RowMembers::Whole(members.clone()),
        }),
    };
    let rows = (1..=ROWS).map(row).collect();
    Import { mode, is_upsert: false, requires_version: false, rows, most_bytes: usize::MAX }
}

fn by_key(key: &str) -> WriteOptions {
    let [path, key, fingerprint] = ["/imports/files", key, "f"].map(str::to_owned);
    let key = Some(IdempotencyKey { path, key, fingerprint });
    WriteOptions { key, ..WriteOptions::by(Caller::Anonymous) }
}

fn answered(fingerprint: &str) -> Answered {
    let (kind, shown) = (WriteOperation::Create, stored(1, 1, "{}"));
    Answered { fingerprint: fingerprint.into(), kind, shown, remarks: Box::default() }
}

/// Runs an import and a POST concurrently. Returns the outcome of the import, and the number of rows that
/// were processed before the POST was answered.
async fn during_a_post(options: &WriteOptions, import: &Import) -> (Imported, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let mut repository = MockItemRepository::new();
    repository.expect_insert().once().returning(|_, _, _| Ok(stored(5, 1, "{}")));
    let done = Arc::clone(&count);
    repository.expect_write_all().returning(move |_, changes, _| {
        done.fetch_add(changes.len(), Ordering::Relaxed);
        Ok(())
    });
    let looked_at = Arc::clone(&count);
    repository.expect_answered().returning(move |metadata| {
        looked_at.fetch_add(1, Ordering::Relaxed);
        let key = metadata.key.as_ref().ok_or(RepositoryError::Corrupt)?;
        let is_replay = key.key == "done";
        let of_row = if key.path.contains('#') { "f" } else { "f#1" };
        Ok(is_replay.then(|| answered(of_row)))
    });
    let files = files(repository);
    let post = async {
        files.create(WRITE, None, members("{}")).await.unwrap();
        // Each row that was drafted has an id, and the POST the one after them.
        let drafted =
            usize::try_from(files.ports.ids.next_id().uuid().as_u128() & 0xffff).unwrap() - 8;
        drafted.max(count.load(Ordering::Relaxed))
    };
    let (imported, rows_before) = zip(files.import(options, import), post).await;
    (imported.unwrap(), rows_before)
}

#[tokio::test]
async fn a_post_waits_for_at_most_64_rows_of_an_import() {
    let too_large = "x".repeat(2 * LARGEST);
    let plain = WriteOptions::by(Caller::Anonymous);
    let dry_run = WriteOptions { is_dry_run: true, ..plain.clone() };
    let (keyed, replayed) = (by_key("new"), by_key("done"));
    for (options, mode, text) in [
        (&plain, ImportMode::Each, "x"),
        (&plain, ImportMode::Each, &*too_large),
        (&keyed, ImportMode::Each, "x"),
        (&keyed, ImportMode::Each, &too_large),
        (&replayed, ImportMode::Each, "x"),
        (&replayed, ImportMode::All, "x"),
        (&dry_run, ImportMode::Each, "x"),
        (&dry_run, ImportMode::All, "x"),
        (&plain, ImportMode::All, &too_large),
    ] {
        let (imported, rows_before) = during_a_post(options, &import(mode, text)).await;
        assert_eq!(imported.rows.len() as u64, ROWS);
        assert!(rows_before <= MOST_ROWS, "{rows_before} rows, {mode:?}, {options:?}");
    }
}

#[tokio::test]
async fn errors_beyond_the_first_thousand_are_counted_only() {
    let mut import = import(ImportMode::All, &"x".repeat(2 * LARGEST));
    let more = import.rows.clone();
    import.rows.extend(more.into_iter().map(|row| ImportRow { number: row.number + ROWS, ..row }));
    let files = files(MockItemRepository::new());
    let imported = files.import(WRITE, &import).await.unwrap();
    let refused = imported.rows.iter().filter_map(|row| match &row.outcome {
        crate::RowOutcome::Refused(errors) => Some(errors),
        _ => None,
    });
    let refused: Vec<&Violations> = refused.collect();
    assert_eq!(refused.len() as u64, 2 * ROWS);
    assert_eq!(refused.iter().map(|errors| errors.iter().count()).sum::<usize>(), 1_000);
}
