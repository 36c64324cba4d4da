//! Sample items in files, which are not in a store.

use domain::{ItemId, Members};
use uuid::Uuid;

use crate::error::Located;
use crate::yaml::{Content, Node};

/// Returns a deterministic id, unique for each number.
pub fn made_up_id(number: usize) -> ItemId {
    const VERSION_7: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0000;
    ItemId::from_uuid(Uuid::from_u128(VERSION_7 + number as u128))
}

/// Reads the id of an item, unless it is absent or null.
pub fn id(node: Option<&Node>, key: &str) -> Result<Option<ItemId>, Located> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(None) };
    let id = node.scalar().and_then(|scalar| ItemId::parse(&scalar.text));
    id.map(Some).ok_or_else(|| {
        let example = made_up_id(0);
        let reason =
            format!("`{key}` must be the id of an item, such as {example}; or leave it out");
        (node.place, reason)
    })
}

/// Reads the members of an item, within the `bytes_left`.
pub fn members(
    node: &Node,
    bytes_left: &mut usize,
    too_large: &str,
) -> Result<Option<Members>, Located> {
    if !matches!(node.content, Content::Mapping(_)) {
        let found = node.with_article();
        let reason = format!("an item must be a mapping of its members, not {found}");
        return Err((node.place, reason));
    }
    let json = node.json(*bytes_left, too_large)?;
    *bytes_left = bytes_left.saturating_sub(json.len());
    Members::read(json.as_bytes())
        .map_err(|error| (node.place, format!("invalid item: {}", error.detail)))
}
