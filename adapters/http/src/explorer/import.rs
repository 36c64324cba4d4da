//! The page for imports. A script sends the file to the API.

use application::table::FORMATS;
use askama::Template;
use domain::Operation;
use poem::Request;

use super::Explorer;
use super::collection::exported;
use super::page::{Layout, render};
use crate::groups::Group;
use crate::links::{EXPORTS, IMPORTS};
use crate::problem::Result;
use crate::query::with_query;
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/import.html")]
struct ImportPage<'a> {
    layout: Layout<'a>,
    group: Group,
    api: String,
    downloads: Vec<(String, String)>,
    media_types: String,
    extensions: String,
}

impl Explorer {
    pub(super) fn show_import(&self, group: Group, request: &Request) -> Result<String> {
        let (access, caller) = (&self.context.changing.access, caller_of(request));
        access.require(caller, group.collection, &[Operation::Create])?;
        let name = group.collection.name();
        let title = format!("Import {}", group.items_name);
        let target = format!("{IMPORTS}/{name}");
        let command = self.command(&target, "upsert=true");
        let command = format!("{command} -H 'Content-Type: text/csv' --data-binary @FILE.csv");
        let layout = self.layout(request, title, name, command);
        let (api, downloads) = (self.links.to(&target), self.downloads(group, ""));
        let formats = FORMATS.iter();
        let media_types: serde_json::Value =
            formats.clone().map(|format| (format.extension, format.media_type)).collect();
        let media_types = media_types.to_string();
        let extensions: Vec<_> = formats.map(|format| format!(".{}", format.extension)).collect();
        let extensions = extensions.join(",");
        render(&ImportPage { layout, group, api, downloads, media_types, extensions })
    }

    pub(super) fn downloads(&self, group: Group, query: &str) -> Vec<(String, String)> {
        if group.is_nested() {
            return Vec::new();
        }
        let (name, query) = (group.collection.name(), exported(query));
        let exported = FORMATS.iter().filter(|format| format.is_exported);
        let address = |extension: &str| {
            with_query(&self.links.to(&format!("{EXPORTS}/{name}.{extension}")), &query)
        };
        exported
            .map(|format| (format.extension.to_uppercase(), address(format.extension)))
            .collect()
    }
}
