//! The structure of the code: which crate may depend on which, which module may import which, and
//! how large files and functions may be.

mod access;
mod carriers;
mod comments;
mod dependencies;
mod documents;
mod guarantees;
mod imports;
mod sizes;
mod sources;
mod sql;
mod workspace;
