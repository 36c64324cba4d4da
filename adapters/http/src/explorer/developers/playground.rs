//! The playground: tries a rule or an expression on an item, through a script and the API.

use application::{ItemAddress, View};
use askama::Template;
use domain::json::encode_string;
use domain::{Collection, Members};
use poem::Request;

use crate::explorer::Explorer;
use crate::explorer::page::{Layout, render};
use crate::groups::{Group, GroupSpec};
use crate::links::RULE_TRIAL;
use crate::problem::Result;
use crate::query::{WhatToTry, query_of, what_to_try};
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/playground.html")]
struct PlaygroundPage<'a> {
    layout: Layout<'a>,
    api: String,
    rule: String,
    groups: Vec<(&'static str, bool)>,
    item: String,
}

impl Explorer {
    pub(in crate::explorer) async fn show_playground(&self, request: &Request) -> Result<String> {
        let WhatToTry { collection, item, rule } = what_to_try(query_of(request))?;
        let known =
            rule.as_deref().map(|id| self.known_rule(caller_of(request), id)).transpose()?;
        let collection = known.as_ref().map(|rule| rule.collection).or(collection);
        let collection = collection.unwrap_or(Collection::known("proposals"));
        let group = GroupSpec::of(collection);
        let written =
            rule.and_then(|id| self.context.changing.catalog.written(caller_of(request), &id));
        let item = match item {
            None => group.example(),
            Some(id) => {
                let address = ItemAddress { parent: None, id };
                let service = self.service(group)?;
                let (shown, _) = service.get(caller_of(request), address, &View::default()).await?;
                // With its id, lookups do not find it.
                let id = encode_string(&shown.item.id.to_string());
                let members = Members::read(shown.item.members.as_bytes()).ok().flatten();
                members.unwrap_or_default().with_first("id", Some(&id)).encoded().to_owned()
            }
        };
        let command = format!(
            "{} -H 'Content-Type: application/json' -d '{{\"expression\": \"size(self.project_title) > 3\", \"group\": \"proposals\", \"self\": {{…}}}}'",
            self.command(RULE_TRIAL, "")
        );
        render(&PlaygroundPage {
            layout: self.layout(request, "Rule playground", "playground", command),
            api: self.links.to(RULE_TRIAL),
            rule: written.map_or_else(|| example_of_rule(group), |written| written.definition),
            groups: Collection::all().map(|it| (it.name(), it == collection)).collect(),
            item,
        })
    }
}

fn example_of_rule(group: Group) -> String {
    let (name, member) = (group.collection.name(), group.columns[0]);
    format!(
        "id: has_{member}\ngroup: {name}\ncheck: has(self.{member}) && size(string(self.{member})) > 3\n\
         field: /{member}\nmessage: Enter a {member} of more than three characters.\n"
    )
}
