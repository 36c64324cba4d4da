//! Recognizes callers, behind the port [`application::Identity`]: access tokens of issuers, and
//! keys of the service.
//!
//! An identity file lists issuers, claim mappings and keys. [`ReloadableIdentity`] reads it,
//! reloads it on change and recognizes callers. [`new_key`] makes keys.
//!
//! Order of the work: `verifier` runs the checks → `token` parses strictly and verifies the
//! signature with `jsonwebtoken` → `issuer_keys` supplies the keys, which `fetch` reads and `jwk`
//! selects → `mapping` makes a caller from the claims → `cache` keeps the caller.
//!
//! File reading blocks: call [`ReloadableIdentity::open`] outside the workers of a runtime.
//! [`ReloadableIdentity::keep_keys`] fetches the keys of issuers in the background.

mod cache;
mod fetch;
mod file_format;
mod identity_file;
mod in_force;
mod issuer;
mod issuer_definition;
mod issuer_keys;
mod jwk;
mod key_definition;
mod machine_key;
mod mapping;
mod metrics;
mod reloadable;
mod token;
mod verifier;

pub use file_format::schema;
pub use machine_key::{NewKey, new_key};
pub use reloadable::ReloadableIdentity;
