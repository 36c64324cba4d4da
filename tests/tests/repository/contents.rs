//! The obligations of `ContentStore`, for a folder and for a bucket of an S3 server.

use std::ops::Range;
use std::sync::Arc;

use application::{ContentError, ContentId, ContentStore, ContentWriter};
use bytes::Bytes;
use contents_adapter::{Location, LocationError};
use sha2::{Digest as _, Sha256};
use tests::S3Server;
use uuid::Uuid;

const PART: usize = 8 << 20;

/// A place for contents, and the folder of the place or of its server.
struct Place {
    location: Location,
    folder: tempfile::TempDir,
    server: Option<S3Server>,
}

impl Place {
    fn store(&self) -> Arc<dyn ContentStore> {
        self.location.store()
    }

    /// The number of all files or objects: finished, and of unfinished uploads.
    fn count(&self) -> usize {
        fn files_in(folder: &std::path::Path) -> usize {
            let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
            let paths = entries.map(|entry| entry.unwrap().path());
            paths.map(|path| if path.is_dir() { files_in(&path) } else { 1 }).sum()
        }
        match &self.server {
            Some(server) => server.seen_by_second_client("").lines().count(),
            None => files_in(&self.folder.path().join("contents")),
        }
    }
}

fn places() -> [Place; 2] {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("contents");
    let location = Location::open(files.to_str().unwrap(), folder.path(), 0).unwrap();
    let in_folder = Place { location, folder, server: None };

    let folder = tempfile::tempdir().unwrap();
    let server = S3Server::start(folder.path());
    let location = Location::open(&server.address("a/b"), folder.path(), 0).unwrap();
    [in_folder, Place { location, folder, server: Some(server) }]
}

fn id(number: u128) -> ContentId {
    ContentId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

fn bytes(size: usize) -> Vec<u8> {
    (0..=250).cycle().take(size).collect()
}

async fn append(writer: &mut Box<dyn ContentWriter>, bytes: &[u8]) {
    for piece in bytes.chunks(90_001) {
        writer.append(Bytes::copy_from_slice(piece)).await.unwrap();
    }
}

async fn read(store: &dyn ContentStore, id: ContentId, part: Range<u64>) -> Vec<u8> {
    let mut reader = store.open(id, part).await.unwrap();
    let mut read = Vec::new();
    while let Some(piece) = reader.next().await.unwrap() {
        read.extend_from_slice(&piece);
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_any_size_are_those_that_were_stored() {
    for place in places() {
        let store = place.store();
        let sizes = [0, 1, 700_000, PART - 1, PART, PART + 1, 5 * PART];
        for (number, size) in sizes.into_iter().enumerate() {
            let bytes = bytes(size);
            for (number, expected) in [(2 * number, Some(size as u64)), (2 * number + 1, None)] {
                let id = id(number as u128);
                let mut writer = store.begin(id, expected).await.unwrap();
                append(&mut writer, &bytes).await;
                assert_eq!(store.open(id, 0..size as u64).await.err(), Some(ContentError::Missing));
                writer.finish().await.unwrap();
                assert!(read(&*store, id, 0..size as u64).await == bytes, "{size} {expected:?}");
            }
        }
        assert_eq!(place.count(), 14);
        if let Some(server) = &place.server {
            let seen = server.seen_by_second_client("a/b");
            for (number, size) in sizes.into_iter().enumerate() {
                let digest = hex::encode(Sha256::digest(bytes(size)));
                for name in [id(2 * number as u128), id(2 * number as u128 + 1)] {
                    assert!(seen.contains(&format!("/{} {digest}\n", name.0)), "{size}: {seen}");
                }
            }
        }
        for part in [0..1, 262_140..262_150, 699_999..700_000, 5..5] {
            let expected = &bytes(700_000)[part.clone()];
            let part = part.start as u64..part.end as u64;
            assert_eq!(read(&*store, id(4), part).await, expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_bytes_are_missing_and_nothing_is_left_of_them() {
    for place in places() {
        let store = place.store();
        let (finished, unfinished) = (id(1), id(2));
        let mut writer = store.begin(finished, None).await.unwrap();
        append(&mut writer, &bytes(PART + 1)).await;
        let key = writer.place().map(ToOwned::to_owned);
        writer.finish().await.unwrap();
        assert_eq!(store.names(1).await.unwrap(), [(finished, PART as u64 + 1)]);
        for _ in 0..2 {
            store.remove(finished, key.as_deref()).await.unwrap();
        }
        assert_eq!(store.open(finished, 0..1).await.err(), Some(ContentError::Missing));
        assert!(store.names(1).await.unwrap().is_empty());

        let mut writer = store.begin(unfinished, Some(3 * PART as u64)).await.unwrap();
        let key = writer.place().map(ToOwned::to_owned);
        append(&mut writer, &bytes(2 * PART + 1)).await;
        drop(writer);
        for _ in 0..2 {
            store.remove(unfinished, key.as_deref()).await.unwrap();
        }
        assert_eq!(place.count(), 0);
        store.remove(id(3), None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_too_few_are_corrupted_and_lost_ones_missing() {
    for place in places() {
        let store = place.store();
        let id = id(1);
        let mut writer = store.begin(id, None).await.unwrap();
        append(&mut writer, &bytes(1_000)).await;
        writer.finish().await.unwrap();
        for part in [0..1_001, 999..1_001, 1_000..1_001, 5_000..6_000] {
            let found = match store.open(id, part.clone()).await {
                Ok(mut reader) => loop {
                    match reader.next().await {
                        Ok(Some(_)) => {}
                        found => break found.err(),
                    }
                },
                Err(error) => Some(error),
            };
            assert_eq!(found, Some(ContentError::Corrupted), "{part:?}");
        }
        assert_eq!(store.open(self::id(2), 0..0).await.err(), Some(ContentError::Missing));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_of_one_store() {
    for Place { location, .. } in &places() {
        assert!(matches!(location.claim("a", true).await, Err(LocationError::Empty(_))));
        assert_eq!(location.id().await.unwrap(), None);
        location.claim("a", false).await.unwrap();
        location.claim("a", true).await.unwrap();
        assert_eq!(location.id().await.unwrap().as_deref(), Some("a"));
        assert!(matches!(location.claim("b", false).await, Err(LocationError::OfAnother(_))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_server_a_bucket_is_unavailable() {
    let [_, mut place] = places();
    let store = place.store();
    let mut writer = store.begin(id(1), Some(3 * PART as u64)).await.unwrap();
    place.server = None;
    append(&mut writer, &bytes(PART)).await;
    // A part is sent while the next one arrives.
    assert_eq!(writer.append(Bytes::from_static(b"more")).await, Ok(()));
    let failed = writer.append(Bytes::from(bytes(PART))).await;
    assert_eq!(failed, Err(ContentError::Unavailable));
    assert_eq!(store.open(id(1), 0..1).await.err(), Some(ContentError::Unavailable));
    let claimed = place.location.claim("a", false).await;
    assert!(matches!(claimed, Err(LocationError::Unusable(..))));
}

#[tokio::test]
async fn a_wrong_address_is_an_error_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let open = |address| Location::open(address, folder.path(), 0).unwrap_err().to_string();
    assert!(
        open("s3://bucket?colour=blue").contains("colour"),
        "{}",
        open("s3://bucket?colour=blue")
    );
    assert!(open("s3://").contains("s3://"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_an_overloaded_server_refuses_are_repeated() {
    let [_, place] = places();
    let store = place.store();
    std::fs::write(place.folder.path().join("failing"), "").unwrap();
    let (id, bytes) = (id(1), bytes(2 * PART + 1));
    let mut writer = store.begin(id, None).await.unwrap();
    append(&mut writer, &bytes).await;
    writer.finish().await.unwrap();
    assert!(read(&*store, id, 0..bytes.len() as u64).await == bytes);
}
