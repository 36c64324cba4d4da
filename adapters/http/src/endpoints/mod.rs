//! The endpoints: each turns a request into the call of a use case, and its result into a response.

pub mod access;
pub mod change_feed;
pub mod change_stream;
pub mod changes;
pub mod content;
pub mod documentation;
pub mod entry_point;
pub mod exports;
pub mod health;
pub mod imports;
pub mod pacing;
pub mod policies;
pub mod problem_pages;
pub mod protected_resource;
pub mod resources;
pub mod rule_trials;
pub mod rules;
pub mod sign_in;
