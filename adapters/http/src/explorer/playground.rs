//! The playground: a rule or an expression is tried on an item, and shows the value of each of its
//! parts. A script sends the trial to the interface for programs.

use application::{Caller, ItemAddress, View};
use askama::Template;
use domain::Collection;
use poem::Request;

use super::page::{Layout, render};
use super::{Explorer, group_of, query_of};
use crate::links::RULE_TRIAL;
use crate::problem::Problem;
use crate::query::item_to_try;

/// A rule to begin with.
const RULE: &str = "id: ends_later\ngroup: proposals\nwhen: has(self.end_date) && has(self.start_date)\n\
                    check: self.end_date > self.start_date\nfield: /end_date\nmessage: Move the end behind the start.\n";

#[derive(Template)]
#[template(path = "explorer/playground.html")]
struct PlaygroundPage<'a> {
    layout: Layout<'a>,
    api: String,
    rule: &'static str,
    groups: Vec<(&'static str, bool)>,
    item: String,
}

impl Explorer {
    pub(super) async fn show_playground(&self, request: &Request) -> Result<String, Problem> {
        let (collection, id) = item_to_try(query_of(request))?;
        let collection = collection.unwrap_or(Collection::known("proposals"));
        let group = group_of(collection);
        let item = match id {
            None => group.example(),
            Some(id) => {
                let address = ItemAddress { parent: None, id };
                let service = self.service(group);
                let (shown, _) = service.get(&Caller::Anonymous, address, &View::default()).await?;
                shown.item.members.to_string()
            }
        };
        let mut layout = self.layout("Playground of rules", "playground");
        layout.command = Some(format!(
            "{} -H 'Content-Type: application/json' -d '{{\"expression\": \"size(self.project_title) > 3\", \"group\": \"proposals\", \"self\": {{…}}}}'",
            self.command(RULE_TRIAL, "")
        ));
        render(&PlaygroundPage {
            layout,
            api: self.links.to(RULE_TRIAL),
            rule: RULE,
            groups: Collection::all().map(|it| (it.name(), it == collection)).collect(),
            item,
        })
    }
}
