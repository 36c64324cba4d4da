//! An HTTP answer whose assertions name the request.

use std::collections::BTreeSet;

use hyper::HeaderMap;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{ExactJson, documented};

/// The members that the service adds to an item.
const OF_THE_SERVICE: [&str; 4] = ["id", "_links", "_embedded", "_meta"];

/// Words of the implementation.
const INTERNAL: [&str; 8] =
    ["sqlx", "sea_orm", "sea-orm", "sqlite", "postgres", "panicked", ".rs:", "constraint"];

/// The answer of the service to one request.
#[derive(Debug)]
pub struct Answer {
    pub(crate) sentence: String,
    pub(crate) origin: String,
    pub(crate) method: String,
    pub(crate) target: String,
    pub status: u16,
    pub headers: HeaderMap,
    /// The body as sent, still encoded if a `Content-Encoding` says so.
    pub body: Bytes,
}

/// One entry of a problem's `errors`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorEntry {
    pub pointer: String,
    pub field: String,
    pub code: String,
    pub detail: String,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "status of {self}");
        self
    }

    /// The value of a header line, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The value of a header line, which must be there.
    #[track_caller]
    pub fn needed_header(&self, name: &str) -> &str {
        self.header(name).unwrap_or_else(|| panic!("no {name} on {self}"))
    }

    /// Asserts the `Content-Type`, exactly.
    #[track_caller]
    pub fn of_type(self, content_type: &str) -> Self {
        assert_eq!(self.header("content-type"), Some(content_type), "Content-Type of {self}");
        self
    }

    /// Asserts which methods `Allow` names, in any order.
    #[track_caller]
    pub fn allowing(self, methods: &[&str]) -> Self {
        let expected: BTreeSet<_> = methods.iter().map(ToString::to_string).collect();
        assert_eq!(self.allowed(), expected, "Allow of {self}");
        self
    }

    /// The methods that `Allow` names.
    #[track_caller]
    pub fn allowed(&self) -> BTreeSet<String> {
        self.needed_header("allow")
            .split(',')
            .map(|method| method.trim().to_owned())
            .filter(|method| !method.is_empty())
            .collect()
    }

    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_else(|_| panic!("not UTF-8: {self}"))
    }

    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The client's members of the item in the body.
    #[track_caller]
    pub fn members(&self) -> ExactJson {
        ExactJson::parse(self.text()).without(&OF_THE_SERVICE)
    }

    /// Asserts that the client's members are those of `text`, in order and digit by digit.
    #[track_caller]
    pub fn with_members(self, text: &str) -> Self {
        let expected = ExactJson::parse(text).without(&OF_THE_SERVICE);
        assert_eq!(self.members(), expected, "members of {self}");
        self
    }

    /// The `id` of the item in the body.
    #[track_caller]
    pub fn id(&self) -> String {
        match ExactJson::parse(self.text()).member("id") {
            Some(ExactJson::String(id)) => id,
            _ => panic!("no id: {self}"),
        }
    }

    /// The `ETag`, which must be a strong one.
    #[track_caller]
    pub fn etag(&self) -> String {
        let etag = self.needed_header("etag");
        let is_strong = etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"');
        assert!(is_strong, "a strong ETag on {self}");
        etag.to_owned()
    }

    /// The path of a link, if the body has it.
    #[track_caller]
    pub fn link(&self, relation: &str) -> Option<String> {
        let value = self.value();
        let href = value["_links"].get(relation)?["href"].as_str();
        Some(self.path_of(href.unwrap_or_else(|| panic!("{relation} has no href: {self}"))))
    }

    /// The paths of a list of links.
    #[track_caller]
    pub fn links(&self, relation: &str) -> Vec<String> {
        let value = self.value();
        let list = value["_links"].get(relation).map(|links| links.as_array().expect("a list"));
        let links = list.into_iter().flatten();
        links.map(|link| self.path_of(link["href"].as_str().expect("an href"))).collect()
    }

    /// A URI without the origin of this service.
    pub fn path_of(&self, uri: &str) -> String {
        uri.strip_prefix(&self.origin).unwrap_or(uri).to_owned()
    }

    /// The items of a collection, which are embedded under `name`.
    #[track_caller]
    pub fn embedded(&self, name: &str) -> Vec<Value> {
        let value = self.value();
        let items = value["_embedded"][name].as_array();
        items.unwrap_or_else(|| panic!("no _embedded.{name}: {self}")).clone()
    }

    /// The ids of a collection's items, in order.
    #[track_caller]
    pub fn embedded_ids(&self, name: &str) -> Vec<String> {
        let items = self.embedded(name);
        items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// The items of a collection, for any name in `_embedded`.
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        let value = self.value();
        let embedded =
            value["_embedded"].as_object().unwrap_or_else(|| panic!("nothing is embedded: {self}"));
        let lists = embedded.iter().filter(|(name, _)| *name != "counts");
        let mut lists = lists.filter_map(|(_, list)| list.as_array());
        match (lists.next(), lists.next()) {
            (Some(items), None) => items.clone(),
            _ => panic!("not one list of items: {self}"),
        }
    }

    /// The values of a member in the items of a collection, in order.
    #[track_caller]
    pub fn each(&self, member: &str) -> Vec<Value> {
        self.items().iter().map(|item| item[member].clone()).collect()
    }

    /// Asserts that the query was refused with a detail that contains each of these texts.
    #[track_caller]
    pub fn refusing_query(self, mentioned: &[&str]) -> Self {
        let answer = self.expect(400);
        let problem = answer.value();
        assert_eq!(problem["code"], "invalid-query", "{answer}");
        let detail = problem["detail"].as_str().unwrap_or_default();
        let is_complete = mentioned.iter().all(|text| detail.contains(text));
        assert!(is_complete, "{mentioned:?} in the detail of {answer}");
        answer
    }

    /// The entries of `errors`.
    #[track_caller]
    pub fn errors(&self) -> Vec<ErrorEntry> {
        serde_json::from_value(self.value()["errors"].clone())
            .unwrap_or_else(|error| panic!("no errors ({error}): {self}"))
    }

    /// Asserts a 422 whose `errors` have exactly these pointers, in any order.
    #[track_caller]
    pub fn refusing(self, pointers: &[&str]) -> Self {
        let answer = self.expect(422);
        let found: BTreeSet<_> = answer.errors().into_iter().map(|error| error.pointer).collect();
        let expected: BTreeSet<_> = pointers.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "pointers of {answer}");
        answer
    }

    /// Asserts that the `OpenAPI` document lists the status for the operation.
    #[track_caller]
    pub(crate) fn must_be_documented(&self) {
        if let Some(statuses) = documented::statuses(&self.method, &self.target) {
            assert!(statuses.contains(&self.status), "a status that is not documented: {self}");
        }
    }

    /// Asserts the rules for every answer.
    #[track_caller]
    pub(crate) fn must_keep_the_common_rules(&self) {
        let content_type = self.needed_header("content-type");
        if ["/v1/", "/lib", "/status"].iter().any(|start| self.target.starts_with(start)) {
            let is_vendor =
                content_type.starts_with("application/vnd.") && content_type.ends_with(".v1+json");
            // Content has the type that it was stored with.
            let is_content = self.headers.contains_key("accept-ranges");
            assert!(
                is_vendor
                    || is_content
                    || ["application/hal+json", "application/json"].contains(&content_type),
                "Content-Type of {self}"
            );
        }
        assert!(self.headers.contains_key("allow"), "Allow on {self}");
        assert!(!self.needed_header("x-request-id").is_empty(), "a request id on {self}");
        if self.method == "HEAD" || [204, 304].contains(&self.status) {
            assert!(self.body.is_empty(), "no body on {self}");
        } else if self.status >= 400 {
            self.must_explain_the_problem();
        }
    }

    #[track_caller]
    fn must_explain_the_problem(&self) {
        let problem = self.value();
        assert_eq!(problem["status"], self.status, "RFC 9457 status of {self}");
        for member in ["type", "title", "detail", "instance", "code"] {
            let is_filled = problem[member].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_filled, "RFC 9457 {member} of {self}");
        }
        for field in ["title", "detail"] {
            let text = problem[field].as_str().unwrap_or_default().to_lowercase();
            let is_internal = INTERNAL.iter().any(|word| text.contains(word));
            assert!(!is_internal, "{field} exposes the implementation: {self}");
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(2000)]);
        write!(formatter, "{}\n→ {} {:#?}\n{body}", self.sentence, self.status, self.headers)
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;

    use super::Answer;

    fn answer(method: &str, target: &str, status: u16) -> Answer {
        let (sentence, origin) = (format!("{method} {target}"), String::new());
        let (method, target) = (method.to_owned(), target.to_owned());
        let (headers, body) = (HeaderMap::new(), "".into());
        Answer { sentence, origin, method, target, status, headers, body }
    }

    #[test]
    fn documented_statuses_and_pages_pass() {
        for (method, target, status) in [
            ("GET", "/v1/files?page=1", 200),
            ("HEAD", "/v1/files/x", 404),
            ("GET", "/v1/changes/stream", 200),
            ("GET", "/exports/files.csv", 429),
            ("DELETE", "/healthz", 405),
            ("GET", "/rules/try", 405),
            ("get", "/v1/files", 405),
            ("GET", "/explore/files", 599),
        ] {
            answer(method, target, status).must_be_documented();
        }
    }

    #[test]
    #[should_panic(expected = "a status that is not documented")]
    fn a_status_that_is_not_documented_fails_at_once() {
        answer("DELETE", "/v1/files/x", 410).must_be_documented();
    }
}
