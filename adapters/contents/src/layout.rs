//! The names and errors that folders and buckets have in common.

use std::error::Error as StdError;

use thiserror::Error;

pub const S3: &str = "s3://";

pub const STORE_ID: &str = "store-id";

#[derive(Debug, Error)]
pub enum LocationError {
    #[error(
        "cannot use {0} for contents: {1}; check --contents, and for a bucket the variables AWS_*"
    )]
    Unusable(String, Box<dyn StdError + Send + Sync>),
    #[error(
        "{0} has the contents of another store; name the one that belongs to the database with --contents"
    )]
    OfAnother(String),
    #[error(
        "{0} does not have the contents of this store: it may be an empty mount point, or another folder or bucket; mount or \
         name the one with the contents (--contents)"
    )]
    Empty(String),
}

/// Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    pub bytes: u64,
    pub free: u64,
}

/// The address of a bucket without its settings, which may contain a key.
pub fn without_settings(name: &str) -> &str {
    name.split_once('?').filter(|_| name.starts_with(S3)).map_or(name, |(address, _)| address)
}

/// The folder of a name: its last two digits. The first digits are a time, so that all new names would
/// be in one folder.
pub fn shard(name: &str) -> &str {
    &name[name.len() - 2..]
}
