//! Tests of the whole service from outside.
//!
//! A test starts the real binary over a database of its own ([`Service`], [`on_each_store`]), says
//! what it asks for as a sentence ([`Request`]), and what it expects as another ([`Answer`]).

#![expect(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "each assertion returns the answer, for the next one"
)]

mod answer;
pub mod binary;
pub mod callers;
mod client;
mod documented;
pub mod event_stream;
mod exact_json;
mod gate;
pub mod random_query;
mod service;
pub mod stores;
pub mod tool;

pub use answer::{Answer, ErrorEntry};
pub use client::{Request, send_bytes};
pub use exact_json::ExactJson;
pub use gate::Gate;
pub use service::{Item, Service, Store, free_address, on_each_store};

/// A number that the environment gives under a name, or another.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |given| given.parse().expect("a number"))
}

/// Raises the limit of open files of this process as far as the system allows, and returns it.
pub fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .expect("a raised limit");
    limit.maximum.unwrap_or(u64::MAX)
}
