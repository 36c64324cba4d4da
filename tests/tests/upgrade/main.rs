//! Upgrades of the schema. The feature `next-schema` gives these tests a newer version of the schema
//! than the binary under test, which is the older service.

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod concurrent_versions;
mod interrupted;
mod lock_meter;
mod older_store;
mod severed;
