//! The permissions of recent callers, by all that policies know of a caller.

use std::hash::Hash;

use application::{Caller, Permissions};
use jiff::civil::Date;
use quick_cache::Equivalent;
use quick_cache::sync::Cache;

const MOST_CALLERS: usize = 10_000;

#[derive(Debug)]
pub(crate) struct PermissionCache(Cache<(Box<str>, Date), Permissions>);

#[derive(Hash)]
struct Key<'a>(&'a str, Date);

impl Equivalent<(Box<str>, Date)> for Key<'_> {
    fn equivalent(&self, key: &(Box<str>, Date)) -> bool {
        *self.0 == *key.0 && self.1 == key.1
    }
}

impl Default for PermissionCache {
    fn default() -> Self {
        Self(Cache::new(MOST_CALLERS))
    }
}

impl PermissionCache {
    pub fn find_or_make(
        &self,
        caller: &Caller,
        today: Date,
        make: impl FnOnce() -> Permissions,
    ) -> Permissions {
        // It begins with the id. That of an anonymous caller is empty.
        let described = caller.principal().map_or("", |principal| principal.described.encoded());
        if let Some(known) = self.0.get(&Key(described, today)) {
            return known;
        }
        let permissions = make();
        self.0.insert((described.into(), today), permissions.clone());
        permissions
    }
}
