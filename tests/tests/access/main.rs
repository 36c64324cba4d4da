//! Who may do what, asked of the real binary on both stores: items are served only to callers with
//! the right to them, and each change names its caller.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod audit;
mod deleting;
mod dossiers;
mod items;
mod keys;
mod links;
mod matrix;
mod members;
mod pages;
mod paths;
mod rates;
mod record;
mod reloading;
mod revisions;
mod sessions;
mod sign_in;
mod sites;
mod trials;
mod world;
