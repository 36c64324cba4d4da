//! Sample callers and items in files.

use application::{Caller, Ownership};
use domain::Collection;
use language::error::ErrorCollector;
use language::keys::{self, Keys};
use language::yaml::{Content, Node};

use crate::file_format::{ANONYMOUS, META};

pub(crate) fn caller(node: &Node, errors: &mut ErrorCollector<'_>) -> Option<Caller> {
    if node.scalar().is_some_and(|scalar| scalar.text == ANONYMOUS) {
        return Some(None.into());
    }
    let principal = language::caller::read(node, errors)?;
    if principal.is_none() && matches!(node.content, Content::Mapping(_)) {
        // A caller without an identifier is anonymous and has no roles.
        let reason = format!(
            "a caller needs an `id`, such as `id: 'agency:1'`; write `{ANONYMOUS}` for a caller without an id"
        );
        errors.add(node.place, reason);
        return None;
    }
    Some(principal.into())
}

#[derive(Clone, Debug)]
pub(super) struct SampleItem {
    pub collection: Collection,
    created_by: Option<Box<str>>,
}

impl SampleItem {
    pub fn read(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Option<Self> {
        let meta = match keys.get("meta") {
            Some(meta) => Some(Keys::of(meta, &META, Some(&[]), errors)?),
            None => None,
        };
        let creator = meta.and_then(|meta| meta.get("created_by").filter(|node| !node.is_null()));
        let created_by = match creator {
            Some(node) => Some(errors.take(keys::string(node, "created_by"))?.text.as_str().into()),
            None => None,
        };
        Some(Self { collection: Collection::named(keys.string("group")?)?, created_by })
    }

    /// Returns the caller's relation to the item. An item of unknown origin has no owner: an
    /// anonymous caller has no id to compare.
    pub fn ownership_of(&self, caller: &Caller) -> Ownership {
        match (caller.id(), self.created_by.as_deref()) {
            (Some(caller), Some(creator)) if caller == creator => Ownership::Own,
            _ => Ownership::Others,
        }
    }
}
