//! Links between pages. They contain no host, so pages work at any address.

use domain::{Collection, ItemId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::ROOT;
use crate::assets;
use crate::base_url::BaseUrl;

/// Escapes all but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub struct ExplorerLinks {
    root: String,
}

impl ExplorerLinks {
    pub fn new(base_url: &BaseUrl) -> Self {
        Self { root: base_url.path().trim_end_matches('/').to_owned() }
    }

    pub fn to(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    pub fn asset(&self, name: &str) -> String {
        self.to(&assets::path(name))
    }

    pub fn overview(&self) -> String {
        self.to(ROOT)
    }

    pub fn collection(&self, collection: Collection) -> String {
        self.to(&format!("{ROOT}/{}", collection.name()))
    }

    pub fn item(&self, collection: Collection, id: ItemId) -> String {
        format!("{}/{id}", self.collection(collection))
    }

    pub fn children(&self, of: Collection, id: ItemId, collection: Collection) -> String {
        format!("{}/{}", self.item(of, id), collection.name())
    }

    pub fn filtered(&self, collection: Collection, member: &str, value: &str) -> String {
        let (member, value) = (escaped(member), escaped(value));
        format!("{}?filter[{member}]={value}", self.collection(collection))
    }

    pub fn playground(&self, collection: Collection, id: ItemId) -> String {
        self.to(&format!("{ROOT}/playground?group={}&item={id}", collection.name()))
    }

    pub fn rule(&self, id: &str) -> String {
        self.to(&format!("{ROOT}/rules/{}", escaped(id)))
    }
}

pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
