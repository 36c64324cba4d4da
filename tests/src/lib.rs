//! Tests of the whole service from outside.
//!
//! A test starts the real binary with a new database ([`Service`], [`on_each_store`]), sends a
//! [`Request`] and states its expectations of the [`Answer`].

mod answer;
pub mod binary;
pub mod callers;
mod client;
mod documented;
pub mod event_stream;
mod exact_json;
mod gate;
pub mod random_query;
mod s3_server;
mod service;
pub mod stores;
pub mod tool;

pub use answer::{Answer, ErrorEntry};
pub use client::{Request, send_bytes};
pub use exact_json::ExactJson;
pub use gate::Gate;
pub use s3_server::S3Server;
pub use service::{End, Item, Service, Store, free_address, on_each_store, run_cases, wait_until};

/// The number in an environment variable, or a default.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |given| given.parse().expect("a number"))
}

/// Raises the limit of open files of this process as far as the system allows: to this number at least.
pub fn raise_open_files(least: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .expect("a raised limit");
    let files = limit.maximum.unwrap_or(u64::MAX);
    assert!(
        files >= least,
        "{least} open files are needed, but the hard limit is {files}: raise it"
    );
}
