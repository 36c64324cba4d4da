//! Files that people write: YAML with the place of each value, and expressions of the Common
//! Expression Language.
//!
//! An adapter that reads files describes them: the keys of its mappings ([`keys::Table`]), the names
//! of its files and the mistakes of their authors ([`yaml::Advice`]). This does the rest, the same
//! way for every kind of file, and knows none of them.
//!
//! From file to value: [`files`] reads bytes, of which [`yaml`] makes trees that know where everything
//! stands → [`keys`] checks mappings by their tables → every error goes to an [`error::ErrorCollector`], with its
//! file, line and column. [`schema()`] makes a JSON Schema of the same tables. [`expression`] knows nothing
//! of files; [`evaluation`] lets expressions run beside requests. [`ReloadableFiles`]
//! keep the content in force, and [`Watches`] read files again.
//!
//! Reading files and compiling expressions block: call them aside from a runtime's workers.

pub mod caller;
pub mod effective;
pub mod error;
pub mod evaluation;
pub mod expression;
pub mod files;
pub mod keys;
pub mod metrics;
mod reloadable;
mod schema;
mod watch;
pub mod yaml;

pub use reloadable::{FileContent, ReloadableFiles};
pub use schema::schema;
pub use watch::{FailedReloads, Readings, Watches};
