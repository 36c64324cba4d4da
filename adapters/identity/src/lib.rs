//! Recognizes callers, behind the port [`application::Identity`]: access tokens of issuers, and keys of
//! the service.
//!
//! An identity file says whose tokens are accepted, how a caller is made of their claims, and which
//! keys there are. [`ReloadableIdentity`] reads it, again when it changes, and recognizes callers by
//! it; [`new_key`] makes keys.
//!
//! From bytes to a caller: `verifier` has the checks in their order → `token` reads a token strictly
//! and verifies its signature by the library `jsonwebtoken` → `issuer_keys` has the keys of issuers,
//! which `fetch` reads and `jwk` selects → `mapping` makes a caller of the claims → `cache` keeps
//! callers until their token ends, or the file or the keys are others.
//!
//! Reading files blocks: call [`ReloadableIdentity::open`] aside from a runtime's workers. The keys of
//! issuers are fetched by [`ReloadableIdentity::keep_keys`], which runs beside the server.

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
