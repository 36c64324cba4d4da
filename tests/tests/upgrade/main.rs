//! Upgrades of the schema. These tests are built with the feature `next-schema`, so the store in them
//! is a version of the schema ahead of the binary under test, which is the older service.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside;
mod interrupted;
mod lock_meter;
mod older_store;
mod severed;
