//! `/rules`: the business rules that are in force, and a page for each.

use std::sync::Arc;

use application::RuleBook;
use domain::{About, Collection, Resource, Rule, WriteOperation};
use poem::http::StatusCode;
use poem::http::header::ETAG;
use poem::{Endpoint, Request, Response, Result};
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::changes::path_of;
use crate::entity_tag::EntityTag;
use crate::group::Group;
use crate::groups::for_each_group;
use crate::media::MediaType;
use crate::pages;
use crate::path_endpoint::Negotiated;
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

/// Where the rules are listed.
pub const PATH: &str = "/rules";

/// The parameter of a rule's own path.
pub const PARAMETER: &str = "rule_id";

/// Where a rule is explained.
#[must_use]
pub fn url(base_url: &BaseUrl, id: &str) -> String {
    format!("{base_url}{PATH}/{id}")
}

/// A rule as it is published.
#[derive(Clone, Debug)]
pub struct PublishedRule {
    /// Its code.
    pub id: String,
    /// The collection it is about.
    pub collection: Collection,
    /// The writes it judges.
    pub operations: Vec<WriteOperation>,
    /// What it does to them, where it comes from, and what else is known of it.
    facts: Value,
}

impl PublishedRule {
    fn new<R>(collection: Collection, rule: &dyn Rule<R>, home: &str) -> Self {
        let About {
            message,
            message_expression,
            pointer,
            description,
            source,
            effective: (from, until),
        } = rule.about();
        let facts = json!({
            "severity": rule.severity().name(),
            "message": message,
            "message_expression": message_expression,
            "field": pointer,
            "description": description,
            "source": source,
            "effective": { "from": from.map(|day| day.to_string()), "until": until.map(|day| day.to_string()) },
            "home": home,
        });
        Self {
            id: rule.code().to_owned(),
            collection,
            operations: rule.operations().to_vec(),
            facts,
        }
    }

    /// As HAL, with its links.
    #[must_use]
    pub fn to_json(&self, base_url: &BaseUrl) -> Value {
        let mut members = json!({
            "id": self.id,
            "group": self.collection.name(),
            "on": self.operations.iter().map(|operation| operation.name()).collect::<Vec<_>>(),
        });
        if let (Some(members), Some(facts)) = (members.as_object_mut(), self.facts.as_object()) {
            members.extend(facts.clone());
            let group = format!("{base_url}{}", path_of(self.collection));
            let links = json!({
                "self": { "href": url(base_url, &self.id) },
                "collection": { "href": format!("{base_url}{PATH}") },
                "group": { "href": group },
            });
            members.insert("_links".to_owned(), links);
        }
        members
    }

    /// What a page says of it, in a sentence or two.
    fn text(&self) -> String {
        let said =
            ["description", "message"].into_iter().find_map(|name| self.facts[name].as_str());
        let operations =
            self.operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ");
        let does = if self.facts["severity"] == "warning" { "It warns" } else { "It refuses" };
        let source = self.facts["source"]
            .as_str()
            .map(|source| format!(" Source: {source}"))
            .unwrap_or_default();
        format!(
            "{} {does} on {operations} of {}.{source}",
            said.unwrap_or("A business rule."),
            self.collection.name()
        )
    }
}

/// All rules there are now: those written in Rust, then those of the book, group by group.
#[must_use]
pub fn published(book: &dyn RuleBook) -> Vec<PublishedRule> {
    let mut all = Vec::new();
    macro_rules! collect {
        ($($group:path,)*) => { $(collect::<$group>(book, &mut all);)* };
    }
    for_each_group!(collect);
    all
}

/// A nested group shows the items of another, whose rules they are.
fn collect<G: Group>(book: &dyn RuleBook, all: &mut Vec<PublishedRule>) {
    if G::OWNER.is_none() {
        all.extend(
            G::Resource::rules()
                .iter()
                .map(|rule| PublishedRule::new(G::COLLECTION, *rule, "rust")),
        );
        all.extend(
            book.rules(G::COLLECTION)
                .iter()
                .map(|rule| PublishedRule::new(G::COLLECTION, rule.as_ref(), "file")),
        );
    }
}

/// Serves the list, and the page of each rule.
pub struct Rules {
    /// Those that are not written in Rust.
    pub book: Arc<dyn RuleBook>,
    /// The root of all links.
    pub base_url: Arc<BaseUrl>,
}

impl Endpoint for Rules {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        refuse_parameters(request.uri().query().unwrap_or_default())?;
        let media = Negotiated::of(&request);
        let text = match request.raw_path_param(PARAMETER) {
            None => self.list().to_string(),
            Some(id) => self.page(id, media)?,
        };
        let response =
            Response::builder().content_type(media.header().to_str().unwrap_or_default());
        let tag = EntityTag::of_content(text.as_bytes());
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(response
                .status(StatusCode::NOT_MODIFIED)
                .header(ETAG, known.header())
                .finish());
        }
        Ok(response.header(ETAG, tag.header()).body(text))
    }
}

impl Rules {
    fn list(&self) -> Value {
        let rules: Vec<_> =
            published(self.book.as_ref()).iter().map(|rule| rule.to_json(&self.base_url)).collect();
        json!({
            "_links": { "self": { "href": format!("{}{PATH}", self.base_url) }, "up": { "href": format!("{}/", self.base_url) } },
            "total_items": rules.len(),
            "_embedded": { "rules": rules },
        })
    }

    fn page(&self, id: &str, media: MediaType) -> Result<String, Problem> {
        let found = published(self.book.as_ref()).into_iter().find(|rule| rule.id == id);
        let rule = found.ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name; see `/rules`.")
        })?;
        let hal = rule.to_json(&self.base_url);
        if media == MediaType::HTML {
            return Ok(pages::html(&self.base_url, &format!("Rule “{id}”"), &rule.text()));
        }
        Ok(hal.to_string())
    }
}
