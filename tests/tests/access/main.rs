//! Who may do what, asked of the real binary on both stores: nothing is served to those it is not for,
//! and what is done names who did it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod deleting;
mod empty_lists;
mod keys;
mod links;
mod matrix;
mod pages;
mod paths;
mod rates;
mod record;
mod refused_files;
mod revisions;
mod sign_in;
mod sites;
mod world;
