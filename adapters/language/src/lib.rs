//! Files of operators: YAML with source positions, and expressions of the Common Expression
//! Language.
//!
//! An adapter describes its files: their keys ([`keys::Table`]), names and the likely mistakes of
//! authors ([`yaml::Advice`]). This crate is generic over the kinds of files.
//!
//! From file to value: [`files`] reads bytes → [`yaml`] builds trees with positions → [`keys`]
//! validates mappings. An [`error::ErrorCollector`] gets all errors. [`schema()`] builds a JSON
//! Schema from the same tables. [`expression`] does not depend on files. [`evaluation`] schedules
//! expressions. [`ReloadableFiles`] keep the content in force, and [`Watches`] reload it.
//!
//! Reading files and compiling expressions block: call them outside the workers of a runtime.

pub mod caller;
pub mod effective;
pub mod error;
pub mod evaluation;
pub mod expression;
pub mod files;
pub mod keys;
mod lookup_target;
pub mod metrics;
mod reloadable;
pub mod sample;
mod schema;
mod watch;
pub mod yaml;

pub use lookup_target::Lookups;
pub use reloadable::{FileContent, ReloadableFiles};
pub use schema::schema;
pub use watch::{FailedReloads, Readings, Watches};
