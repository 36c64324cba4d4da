//! The specification as tables, section 4 line by line, and every row asked for everything it
//! promises.
//!
//! The tables are written from the specification, and use no code of the service.

mod table;

use tests::{Answer, Item, Request, Service, Store};

use crate::{PROPOSAL, UNKNOWN_ID};
use table::{GROUPS, Group, ODD_IDS, Row, UNACCEPTABLE, UNSUPPORTED};

#[test]
fn every_row_succeeds_under_every_media_type() {
    for_each_group(|place| {
        let vendor_type = format!("application/vnd.{}.v1+json", place.group.name);
        let bodies = [Some(&*vendor_type), Some("application/json"), None];
        for row in place.group.rows() {
            for accept in [&*vendor_type, "application/hal+json", "application/json"] {
                for content_type in bodies.iter().filter(|body| body.is_some() == row.takes_body())
                {
                    let bare = place.request(&row).accept(accept);
                    let request = match content_type {
                        Some(content_type) => bare.body(content_type, place.body(&row)),
                        None => bare,
                    };
                    let answer = request.expect(row.success).of_type(accept);
                    answer.allowing(&place.group.allowed(row.is_item));
                }
            }
        }
    });
}

#[test]
fn every_row_refuses_what_it_must_and_writes_nothing() {
    for_each_group(|place| {
        for row in place.group.rows() {
            for &status in &row.refusals {
                let requests = place.refused_requests(&row, status);
                let before = place.contents();
                for request in requests {
                    let content_type =
                        if status == 406 { "application/json" } else { "application/hal+json" };
                    let answer = request.expect(status).of_type(content_type);
                    answer.allowing(&place.group.allowed(row.is_item));
                }
                let after = place.contents();
                assert_eq!(after, before, "{} wrote although it answered {status}", row.method);
            }
        }
    });
}

#[test]
fn every_path_serves_its_methods_alone_and_checks_in_one_order() {
    for_each_group(|place| {
        for (is_item, target) in [(false, place.collection.clone()), (true, place.create().path)] {
            let allowed = place.group.allowed(is_item);
            place.no_other_method_is_served(&target, &allowed);
            place.head_is_get_without_the_body(&target);
            for accept in ["*/*", "text/html"] {
                let options = place.service.request("OPTIONS", &target).accept(accept);
                options.expect(204).allowing(&allowed);
            }
            for unrouted in [format!("{target}/"), format!("/v2{target}"), format!("/{target}")] {
                place.is_no_route(&unrouted);
            }
        }
        place.is_no_route(&format!("{}/more", place.create().path));
        for id in ODD_IDS {
            let target = format!("{}/{id}", place.collection);
            for request in [place.service.get(&target), place.service.delete(&target)] {
                let answer = request.expect(404).of_type("application/hal+json");
                answer.allowing(&place.group.allowed(true));
            }
        }
        place.the_first_check_that_fails_answers();
    });
}

/// A group on a service; its collection has the id of a proposal in place of `:proposals_id`.
struct Place<'a> {
    group: &'a Group,
    service: &'a Service,
    collection: String,
}

/// Runs a test for each group on a service over each store.
fn for_each_group(test: impl Fn(&Place)) {
    for store in [Store::Sqlite, Store::Postgres] {
        let service = &Service::start(store);
        for group in &GROUPS {
            println!("{} at {} on {store:?}:", group.name, group.collection);
            let mut collection = group.collection.to_owned();
            if group.is_nested() {
                let proposal = service.create("/v1/proposals", PROPOSAL);
                collection = collection.replace(":proposals_id", &proposal.id);
            }
            test(&Place { group, service, collection });
        }
    }
}

impl Place<'_> {
    fn no_other_method_is_served(&self, target: &str, allowed: &[&str]) {
        let before = self.contents();
        for method in ["POST", "PATCH", "PUT", "DELETE", "TRACE", "BREW", "get"] {
            if !allowed.contains(&method) {
                for (accept, content_type) in [
                    ("application/hal+json", "application/hal+json"),
                    ("text/html", "application/json"),
                ] {
                    let request = self.service.request(method, target).json(self.group.body);
                    let answer = request.accept(accept).expect(405).of_type(content_type);
                    answer.allowing(allowed);
                }
            }
        }
        assert_eq!(self.contents(), before, "a method that {target} does not serve wrote");
    }

    fn head_is_get_without_the_body(&self, target: &str) {
        for accept in ["*/*", "application/json", "text/html"] {
            let [get, head] = ["GET", "HEAD"]
                .map(|method| self.service.request(method, target).accept(accept).send());
            assert_eq!(head.status, get.status, "{target} {accept}");
            assert_eq!(comparable_headers(&head), comparable_headers(&get), "{target} {accept}");
            assert!(head.body.is_empty(), "{target} {accept}");
        }
    }

    fn is_no_route(&self, target: &str) {
        for method in ["GET", "POST", "OPTIONS", "BREW"] {
            let request = self.service.request(method, target).accept("application/json");
            request.expect(404).of_type("application/json").allowing(&[]);
        }
    }

    fn the_first_check_that_fails_answers(&self) {
        let unknown = format!("{}/{UNKNOWN_ID}", self.collection);
        let item = self.create();
        let refused = format!(r#"{{"id":"{UNKNOWN_ID}"}}"#);
        let service = self.service;
        let put = |target: &str| service.put(target);
        let brew = |target: &str| service.request("BREW", target).accept("text/html");
        let stale = || put(&item.path).header("if-match", "\"stale\"");
        let large = vec![b' '; 9 << 20];
        brew("/v1/nothing").body("text/plain", "{").expect(404);
        for (order, request, status) in [
            ("method before Accept", brew(&item.path).body("text/plain", "{"), 405),
            (
                "Accept before Content-Type",
                put(&item.path).accept("text/html").body("text/plain", "{"),
                406,
            ),
            ("Accept before an unknown item", service.get(&unknown).accept("text/html"), 406),
            ("Content-Type before the body", put(&item.path).body("text/plain", "{"), 415),
            ("Content-Type before an unknown item", put(&unknown).body("text/plain", "{}"), 415),
            (
                "Content-Type before the size",
                put(&item.path).body("text/plain", large.clone()).chunked(),
                415,
            ),
            ("the size before an unknown item", put(&unknown).json(large).chunked(), 413),
            ("the body before an unknown item", put(&unknown).json("{"), 400),
            (
                "an unknown item before the condition",
                put(&unknown).header("if-match", "\"stale\"").json(self.group.body),
                404,
            ),
            (
                "an unknown item before the rules",
                put(&unknown).json(format!(r#"{{"id":"{}"}}"#, item.id)),
                404,
            ),
            ("the body before the condition", stale().json("{"), 400),
            ("the condition before the rules", stale().json(refused.clone()), 412),
            ("the rules last", put(&item.path).header("if-match", &item.etag).json(refused), 422),
        ] {
            println!("{order}");
            request.expect(status).allowing(&self.group.allowed(true));
        }
        service.read(&item.path).with_members(self.group.body);
        if self.group.is_nested() {
            for (body, status) in [("{", 400), (r#"{"id":"x"}"#, 404), ("{}", 404)] {
                let request = service.post(&in_unknown_proposal(UNKNOWN_ID)).json(body);
                request.expect(status).allowing(&self.group.allowed(false));
            }
        }
    }

    fn create(&self) -> Item {
        self.service.create(&self.collection, self.group.body)
    }

    /// Everything the group holds; for the nested library, all libraries.
    fn contents(&self) -> String {
        let collection = if self.group.is_nested() { "/lib" } else { &self.collection };
        let page = self.service.list(collection, "page_size=250");
        assert_eq!(page.link("next"), None, "one page shows everything");
        page.text().to_owned()
    }

    /// A body the row takes.
    fn body(&self, row: &Row) -> String {
        let body = self.group.body;
        if row.replaces_all() { format!("[{body}]") } else { body.to_owned() }
    }

    /// A request for the collection or for a new item.
    fn request(&self, row: &Row) -> Request {
        let item = row.is_item.then(|| self.create().path);
        self.service.request(row.method, item.as_ref().unwrap_or(&self.collection))
    }

    /// Requests that the row must answer with `status`, one for each way to deserve it.
    fn refused_requests(&self, row: &Row, status: u16) -> Vec<Request> {
        let hal = || self.request(row).accept("application/hal+json");
        let good = |request: Request| {
            if row.takes_body() { request.json(self.body(row)) } else { request }
        };
        match status {
            400 => row.unreadable_bodies().iter().map(|body| hal().json(*body)).collect(),
            404 => {
                let targets = self.unknown_targets(row).into_iter();
                let requests = targets.map(|target| self.service.request(row.method, &target));
                requests.map(|request| good(request.accept("application/hal+json"))).collect()
            }
            406 => {
                let requests = UNACCEPTABLE.iter().map(|accept| self.request(row).accept(accept));
                requests.map(good).collect()
            }
            415 => {
                let typed = UNSUPPORTED.iter().map(|typed| hal().body(typed, self.body(row)));
                typed.chain([hal().untyped_body(self.body(row))]).collect()
            }
            422 => self.refused_bodies(row).into_iter().map(|body| hal().json(body)).collect(),
            _ => unreachable!("the table has no {status}"),
        }
    }

    fn unknown_targets(&self, row: &Row) -> Vec<String> {
        if !self.group.is_nested() {
            let ids = [UNKNOWN_ID, "no-such-id", "%00"];
            return ids.map(|id| format!("{}/{id}", self.collection)).to_vec();
        }
        if !row.is_item {
            return [UNKNOWN_ID, "no-such-id"].map(in_unknown_proposal).to_vec();
        }
        let other = self.service.create("/v1/proposals", PROPOSAL);
        let item = self.create();
        let targets = [in_unknown_proposal(UNKNOWN_ID), format!("{}/lib", other.path)]
            .map(|library| format!("{library}/{}", item.id));
        targets.into_iter().chain([format!("{}/{UNKNOWN_ID}", self.collection)]).collect()
    }

    /// Bodies that are read and refused by a rule: an id that is not the path's, and text that no
    /// store can keep.
    fn refused_bodies(&self, row: &Row) -> [String; 2] {
        let start = self.group.body.trim_end_matches('}');
        let bodies = [
            format!(r#"{start},"id":"{UNKNOWN_ID}"}}"#),
            self.group.body.replacen(":\"", ":\"\\u0000", 1),
        ];
        if row.replaces_all() { bodies.map(|body| format!("[{body}]")) } else { bodies }
    }
}

impl Row {
    fn takes_body(&self) -> bool {
        ["POST", "PATCH", "PUT"].contains(&self.method)
    }

    fn replaces_all(&self) -> bool {
        self.method == "PUT" && !self.is_item
    }

    fn unreadable_bodies(&self) -> [&'static str; 5] {
        if self.replaces_all() {
            ["", "[", "{}", "7", r#"[{"a":1,"a":2}]"#]
        } else {
            ["", "{", "[]", "7", r#"{"a":1,"a":2}"#]
        }
    }
}

fn in_unknown_proposal(id: &str) -> String {
    format!("/v1/proposals/{id}/lib")
}

/// The header lines that do not differ from one request to the next.
fn comparable_headers(answer: &Answer) -> Vec<(&str, &[u8])> {
    let headers = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let mut headers: Vec<_> =
        headers.filter(|(name, _)| !["date", "x-request-id"].contains(name)).collect();
    headers.sort_unstable();
    headers
}
