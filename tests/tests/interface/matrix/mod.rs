//! The specification as a literal table, section 4 row by row, and every row asked for everything
//! it promises.
//!
//! The table is written from the specification and knows nothing of the service's code.

mod table;

use tests::{Answer, Item, Request, Service, Store};

use crate::{PROPOSAL, UNKNOWN_ID};
use table::{ALLOWED, GROUPS, Group, ODD_IDS, Row, UNACCEPTABLE, UNSUPPORTED};

#[test]
fn the_table_has_every_row_of_the_specification() {
    let rows: usize = GROUPS.iter().map(|group| group.rows.len()).sum();
    // Eleven lines in 4.3 and 4.4 with the six operations of 4.2, POST on a proposal, and the two
    // rows of 4.5.
    assert_eq!(rows, 11 * 6 + 1 + 2);
}

#[test]
fn every_row_succeeds_under_every_media_type() {
    for_each_group(|place| {
        for row in place.group.rows {
            for accept in media_types_of_answers(row) {
                for content_type in media_types_of_bodies(row) {
                    let bare = place.request(row, &place.path(row)).accept(&accept);
                    let request = match content_type {
                        Some(content_type) => bare.body(&content_type, place.body(row)),
                        None => bare,
                    };
                    request.send().expect(row.success).of_type(&accept).allowing(allowed(row.path));
                }
            }
        }
    });
}

#[test]
fn every_row_refuses_what_it_must_and_writes_nothing() {
    for_each_group(|place| {
        for row in place.group.rows {
            for &status in row.refusals {
                let requests = place.refused_requests(row, status);
                let before = place.contents();
                for request in requests {
                    let content_type =
                        if status == 406 { "application/json" } else { "application/hal+json" };
                    request.send().expect(status).of_type(content_type).allowing(allowed(row.path));
                }
                assert_eq!(
                    place.contents(),
                    before,
                    "{} {} wrote although it answered {status}",
                    row.method,
                    row.path
                );
            }
        }
    });
}

#[test]
fn no_other_method_is_served() {
    for_each_group(|place| {
        let paths = [place.path_form(false), place.path_form(true)];
        for path in paths {
            let target = place.concrete(path);
            let before = place.contents();
            for method in ["POST", "PATCH", "PUT", "DELETE", "TRACE", "BREW", "get"] {
                if !allowed(path).contains(&method) {
                    let request = || place.service.request(method, &target).json(place.group.body);
                    request()
                        .accept("application/hal+json")
                        .send()
                        .expect(405)
                        .of_type("application/hal+json")
                        .allowing(allowed(path));
                    request()
                        .accept("text/html")
                        .send()
                        .expect(405)
                        .of_type("application/json")
                        .allowing(allowed(path));
                }
            }
            assert_eq!(
                place.contents(),
                before,
                "{path} was written to by a method that it does not serve"
            );
        }
    });
}

#[test]
fn head_is_get_without_the_body() {
    for_each_group(|place| {
        for path in [place.path_form(false), place.path_form(true)] {
            let target = place.concrete(path);
            for accept in ["*/*", "application/json", "text/html"] {
                let get = place.service.get(&target).accept(accept).send();
                let head = place.service.request("HEAD", &target).accept(accept).send();
                assert_eq!(head.status, get.status, "{target} {accept}");
                assert_eq!(
                    comparable_headers(&head),
                    comparable_headers(&get),
                    "{target} {accept}"
                );
                assert!(head.body.is_empty(), "{target} {accept}");
            }
        }
    });
}

#[test]
fn options_is_204_whatever_is_accepted() {
    for_each_group(|place| {
        for path in [place.path_form(false), place.path_form(true)] {
            let target = place.concrete(path);
            for accept in ["*/*", "text/html"] {
                place
                    .service
                    .request("OPTIONS", &target)
                    .accept(accept)
                    .send()
                    .expect(204)
                    .allowing(allowed(path));
            }
        }
    });
}

#[test]
fn a_path_that_is_no_route_allows_nothing() {
    for_each_group(|place| {
        let (collection, item) =
            (place.concrete(place.path_form(false)), place.concrete(place.path_form(true)));
        let targets = [
            format!("{collection}/"),
            format!("{item}/"),
            format!("{item}/more"),
            format!("/v2{collection}"),
            format!("/{collection}"),
        ];
        for target in targets {
            for method in ["GET", "POST", "OPTIONS", "BREW"] {
                let answer =
                    place.service.request(method, &target).accept("application/json").send();
                answer.expect(404).of_type("application/json").allowing(&[]);
            }
        }
    });
}

#[test]
fn an_odd_identifier_is_an_unknown_item() {
    for_each_group(|place| {
        let path = place.path_form(true);
        for id in ODD_IDS {
            let target = format!("{}/{id}", place.collection());
            place
                .service
                .get(&target)
                .send()
                .expect(404)
                .of_type("application/hal+json")
                .allowing(allowed(path));
            place
                .service
                .delete(&target)
                .send()
                .expect(404)
                .of_type("application/hal+json")
                .allowing(allowed(path));
        }
    });
}

#[test]
fn the_first_check_that_fails_answers() {
    for_each_group(|place| {
        let allow_item = allowed(place.path_form(true));
        let unknown = format!("{}/{UNKNOWN_ID}", place.collection());
        let item = place.create();
        let refused = format!(r#"{{"id":"{UNKNOWN_ID}"}}"#);
        let other_id = format!(r#"{{"id":"{}"}}"#, item.id);
        let service = &place.service;
        let put = |target: &str| service.put(target);
        for (order, request, status) in [
            (
                "no route before method",
                service.request("BREW", "/v1/nothing").accept("text/html").body("text/plain", "{"),
                404,
            ),
            (
                "method before Accept",
                service.request("BREW", &item.path).accept("text/html").body("text/plain", "{"),
                405,
            ),
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
                put(&item.path).body("text/plain", vec![b' '; 9 << 20]).chunked(),
                415,
            ),
            (
                "the size before an unknown item",
                put(&unknown).json(vec![b' '; 9 << 20]).chunked(),
                413,
            ),
            ("the body before an unknown item", put(&unknown).json("{"), 400),
            (
                "an unknown item before the condition",
                put(&unknown).header("if-match", "\"stale\"").json(place.group.body),
                404,
            ),
            ("an unknown item before the rules", put(&unknown).json(other_id), 404),
            (
                "the body before the condition",
                put(&item.path).header("if-match", "\"stale\"").json("{"),
                400,
            ),
            (
                "the condition before the rules",
                put(&item.path).header("if-match", "\"stale\"").json(refused.clone()),
                412,
            ),
            (
                "the rules last",
                put(&item.path).header("if-match", &item.etag).json(refused.clone()),
                422,
            ),
        ] {
            println!("{order}");
            let answer = request.send().expect(status);
            if status != 404 || !order.starts_with("no route") {
                answer.allowing(allow_item);
            }
        }
        service.get(&item.path).send().expect(200).with_members(place.group.body);
    });
}

#[test]
fn an_unknown_proposal_is_found_missing_after_the_body_is_read() {
    let service = Service::start(Store::Sqlite);
    let unknown = format!("/v1/proposals/{UNKNOWN_ID}/lib");
    for (body, status) in [("{", 400), (r#"{"id":"x"}"#, 404), ("{}", 404)] {
        service
            .post(&unknown)
            .json(body)
            .send()
            .expect(status)
            .allowing(allowed("/v1/proposals/:proposals_id/lib"));
    }
}

/// A fresh service for a group, and a proposal to own what the nested library holds.
struct Place {
    group: &'static Group,
    service: Service,
    parent: String,
}

/// Runs a test for each group on each store.
fn for_each_group(test: impl Fn(&Place)) {
    for store in [Store::Sqlite, Store::Postgres] {
        for group in GROUPS {
            println!("{} on {store:?}:", group.name);
            let service = Service::start(store);
            let parent = if group.name == "proposals lib" {
                service.create("/v1/proposals", PROPOSAL).id
            } else {
                String::new()
            };
            test(&Place { group, service, parent });
        }
    }
}

impl Place {
    fn collection(&self) -> String {
        self.group.collection.replace(":proposals_id", &self.parent)
    }

    fn create(&self) -> Item {
        self.service.create(&self.collection(), self.group.body)
    }

    /// Everything the group holds; for the nested library, all libraries.
    fn contents(&self) -> String {
        if self.group.name == "proposals lib" {
            self.service.contents("/lib")
        } else {
            self.service.contents(&self.collection())
        }
    }

    /// The path of the group's collection or items as the table writes it.
    fn path_form(&self, is_item: bool) -> &'static str {
        let row = self.group.rows.iter().find(|row| is_item_path(row.path) == is_item);
        row.expect("each group has both forms").path
    }

    /// A path of the table with ids of things that exist.
    fn concrete(&self, path: &str) -> String {
        if is_item_path(path) { self.create().path } else { self.collection() }
    }

    fn path(&self, row: &Row) -> String {
        self.concrete(row.path)
    }

    /// A body the row takes, if it takes one.
    fn body(&self, row: &Row) -> String {
        if is_replacement_of_all(row) {
            format!("[{}]", self.group.body)
        } else {
            self.group.body.to_owned()
        }
    }

    fn request(&self, row: &Row, target: &str) -> Request {
        self.service.request(row.method, target)
    }

    /// Requests that the row must answer with `status`, one for each way to deserve it.
    fn refused_requests(&self, row: &Row, status: u16) -> Vec<Request> {
        let hal = |target: &str| self.request(row, target).accept("application/hal+json");
        let good =
            |request: Request| if takes_body(row) { request.json(self.body(row)) } else { request };
        match status {
            400 => {
                unreadable_bodies(row).iter().map(|body| hal(&self.path(row)).json(*body)).collect()
            }
            404 => self.unknown_targets(row).iter().map(|target| good(hal(target))).collect(),
            406 => UNACCEPTABLE
                .iter()
                .map(|accept| good(self.request(row, &self.path(row)).accept(accept)))
                .collect(),
            415 => {
                let typed = UNSUPPORTED
                    .iter()
                    .map(|content_type| hal(&self.path(row)).body(content_type, self.body(row)));
                typed.chain([hal(&self.path(row)).untyped_body(self.body(row))]).collect()
            }
            422 => self
                .refused_bodies(row)
                .into_iter()
                .map(|body| hal(&self.path(row)).json(body))
                .collect(),
            _ => unreachable!("the table has no {status}"),
        }
    }

    fn unknown_targets(&self, row: &Row) -> Vec<String> {
        let nested = "/v1/proposals/:proposals_id/lib";
        let in_unknown_proposal = nested.replace(":proposals_id", UNKNOWN_ID);
        match (self.group.collection == nested, is_item_path(row.path)) {
            (true, false) => {
                vec![in_unknown_proposal, nested.replace(":proposals_id", "no-such-id")]
            }
            (true, true) => {
                let other = self.service.create("/v1/proposals", PROPOSAL);
                let item = self.create();
                let targets = [in_unknown_proposal, format!("{}/lib", other.path)]
                    .map(|library| format!("{library}/{}", item.id));
                targets.into_iter().chain([format!("{}/{UNKNOWN_ID}", self.collection())]).collect()
            }
            (false, _) => [UNKNOWN_ID, "no-such-id", "%00"]
                .map(|id| format!("{}/{id}", self.collection()))
                .to_vec(),
        }
    }

    /// Bodies that are read and refused by a rule: an id that is not the path's, and text that no
    /// store can keep.
    fn refused_bodies(&self, row: &Row) -> Vec<String> {
        let start = self.group.body.trim_end_matches('}');
        let bodies = [
            format!(r#"{start},"id":"{UNKNOWN_ID}"}}"#),
            self.group.body.replacen(":\"", ":\"\\u0000", 1),
        ];
        if is_replacement_of_all(row) {
            bodies.map(|body| format!("[{body}]")).to_vec()
        } else {
            bodies.to_vec()
        }
    }
}

fn media_types_of_answers(row: &Row) -> [String; 3] {
    [vendor_type(row.group), "application/hal+json".to_owned(), "application/json".to_owned()]
}

fn media_types_of_bodies(row: &Row) -> Vec<Option<String>> {
    if takes_body(row) {
        vec![Some(vendor_type(row.group)), Some("application/json".to_owned())]
    } else {
        vec![None]
    }
}

fn vendor_type(group: &str) -> String {
    format!("application/vnd.{group}.v1+json")
}

fn unreadable_bodies(row: &Row) -> &'static [&'static str] {
    if is_replacement_of_all(row) {
        &["", "[", "{}", "7", r#"[{"a":1,"a":2}]"#]
    } else {
        &["", "{", "[]", "7", r#"{"a":1,"a":2}"#]
    }
}

fn takes_body(row: &Row) -> bool {
    ["POST", "PATCH", "PUT"].contains(&row.method)
}

fn is_replacement_of_all(row: &Row) -> bool {
    row.method == "PUT" && !is_item_path(row.path)
}

fn is_item_path(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|segment| segment.starts_with(':'))
}

fn allowed(path: &str) -> &'static [&'static str] {
    let (_, methods) = ALLOWED
        .iter()
        .find(|(known, _)| *known == path)
        .expect("each path has a line in the table");
    methods
}

/// The header lines that do not differ from one request to the next.
fn comparable_headers(answer: &Answer) -> Vec<(String, String)> {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()))
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    headers.sort();
    headers
}
