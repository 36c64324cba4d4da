//! Random items and random queries: both stores give the same answers, and the answers a few lines
//! of Rust give.

use std::cmp::Ordering;
use std::fmt::Write as _;

use fastrand::Rng;
use serde_json::Value;
use tests::random_query::{Filter, OPERANDS, VALUES, in_order, one};
use tests::{Service, Store};

use crate::queries::{encoded, walk};

const COLLECTION: &str = "/v1/cashprogram";

/// The bodies of random items, each with its number `n`.
fn random_bodies(random: &mut Rng, count: usize) -> Vec<String> {
    let mut body = |n| {
        let mut text = format!(r#"{{"n":{n}"#);
        for member in ["x", "y", "z"] {
            if random.u8(..8) > 0 {
                write!(text, r#","{member}":{}"#, one(random, VALUES)).expect("a string takes all");
            }
        }
        text + "}"
    };
    (0..count).map(&mut body).collect()
}

struct Query {
    filters: Vec<Filter>,
    /// Members, and whether the greatest comes first.
    sort: Vec<(&'static str, bool)>,
}

impl Query {
    fn random(random: &mut Rng) -> Self {
        let filters = (0..random.usize(..3)).map(|_| {
            let member = one(random, &["x", "y", "z", "n", "nothing"]);
            Filter::random(random, member, OPERANDS)
        });
        let filters = filters.collect();
        let mut sort: Vec<(&'static str, bool)> = Vec::new();
        for _ in 0..random.usize(..3) {
            let member = one(random, &["x", "y", "z", "n"]);
            if sort.iter().all(|(known, _)| *known != member) {
                sort.push((member, random.bool()));
            }
        }
        Self { filters, sort }
    }

    fn text(&self) -> String {
        let mut text: Vec<_> = self.filters.iter().map(filter_text).collect();
        if !self.sort.is_empty() {
            let sign = |descending| if descending { "-" } else { "" };
            let keys = self.sort.iter().map(|(name, down)| format!("{}{name}", sign(*down)));
            let keys: Vec<_> = keys.collect();
            text.push(format!("sort={}", keys.join(",")));
        }
        text.join("&")
    }

    /// The numbers of the items that it finds, by the letter of the documentation.
    fn naive(&self, items: &[Value]) -> Vec<u64> {
        let passes = |item: &&Value| {
            self.filters.iter().all(|filter| filter.holds(&item[filter.member.as_str()]))
        };
        let mut found: Vec<_> = items.iter().filter(passes).collect();
        found.sort_by(|left, right| {
            let keys = self.sort.iter();
            let keys = keys.map(|(member, down)| in_order(&left[*member], &right[*member], *down));
            keys.fold(Ordering::Equal, Ordering::then)
        });
        found.into_iter().filter_map(|item| item["n"].as_u64()).collect()
    }
}

fn filter_text(Filter { member, operator, operand }: &Filter) -> String {
    let operator = if operator.is_empty() { String::new() } else { format!("[{operator}]") };
    format!("filter[{member}]{operator}={}", encoded(operand))
}

fn ns(items: &[Value]) -> Vec<u64> {
    items.iter().filter_map(|item| item["n"].as_u64()).collect()
}

#[test]
fn both_stores_answer_as_the_documentation_says() {
    let seed = tests::number("TEST_SEED", fastrand::u64(..));
    println!("TEST_SEED={seed} asks the same again");
    let mut random = Rng::with_seed(seed);
    let services = [Store::Sqlite, Store::Postgres].map(Service::start);
    for _ in 0..4 {
        let count = random.usize(20..120);
        let bodies = random_bodies(&mut random, count);
        for service in &services {
            service.replace(COLLECTION, format!("[{}]", bodies.join(",")));
        }
        let items: Vec<Value> =
            bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        for _ in 0..150 {
            let query = Query::random(&mut random);
            let expected = query.naive(&items);
            let (text, page_size) = (&query.text(), random.usize(2..60));
            std::thread::scope(|scope| {
                for service in &services {
                    scope.spawn(|| agree(service, text, &expected, page_size));
                }
            });
        }
    }
}

/// Asserts that a query finds these items: on one page, walking forth by links, and by bare page
/// numbers.
#[track_caller]
fn agree(service: &Service, query: &str, expected: &[u64], page_size: usize) {
    let answer = service.list(COLLECTION, &format!("{query}&page_size=250"));
    assert_eq!(ns(&answer.items()), expected, "{query}: {answer}");
    assert_eq!(answer.value()["total_items"], expected.len(), "{query}: {answer}");
    let mut last = String::new();
    let start = format!("{COLLECTION}?{query}&page_size={page_size}&fields=n");
    let pages = walk(service, &start, "next", |page| {
        last = page.link("self").expect("a link to itself");
    });
    assert_eq!(ns(&pages.concat()), expected, "{query} by pages of {page_size}");
    let mut back = walk(service, &last, "prev", |_| {});
    back.reverse();
    assert_eq!(back, pages, "{query} by pages of {page_size} backwards");
    let page = expected.len() / page_size + 1;
    if !expected.len().is_multiple_of(page_size) {
        let bare = service.list(COLLECTION, &format!("{query}&page_size={page_size}&page={page}"));
        assert_eq!(ns(&bare.items()), expected[(page - 1) * page_size..], "{query}: {bare}");
    }
}
