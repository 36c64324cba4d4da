//! A caller sees the service as over a store that holds only the items that the caller may read.
//!
//! A model in the test decides which items a caller may read, by a second evaluation of the policies.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod building;
mod comparison;
mod concurrent;
mod interference;
mod model;
mod policies;
mod requests;
mod scene;
#[expect(dead_code, reason = "tests of access use all of it")]
#[path = "../access/world.rs"]
mod world;
