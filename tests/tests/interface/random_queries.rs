//! Random items and random queries: both stores give the same answers, and the answers a few lines
//! of Rust give.

use std::cmp::Ordering;
use std::fmt::Write as _;

use fastrand::Rng;
use serde_json::Value;
use tests::{Service, Store};

use crate::queries::{encoded, walk};

const COLLECTION: &str = "/v1/cashprogram";

/// JSON values, few enough that many are equal.
const VALUES: &[&str] = &[
    "7",
    "7.0",
    "7e0",
    "10",
    "9",
    "-3",
    "0",
    "-0.0",
    "14.5",
    "14.50",
    "0.1",
    "100000",
    r#""7""#,
    r#""14.50""#,
    r#""""#,
    r#""a""#,
    r#""A""#,
    r#""ab""#,
    r#""ñ""#,
    r#""Ñ""#,
    r#""🐟""#,
    r#""true""#,
    "true",
    "false",
    "null",
    "null",
    r#"["a",7]"#,
    r#"["b",10,null]"#,
    "[]",
    r#"{"a":7}"#,
    r#""2026-01-31""#,
    r#""a b""#,
    r#""%_*""#,
];

/// What filters compare with.
const OPERANDS: &[&str] = &[
    "7", "7.0", "10", "-3", "0", "14.50", "14.5", "9.9", "a", "A", "ab", "b", "ñ", "🐟", "true",
    "false", "", "2026", "null", "%", "07",
];

const OPERATORS: &[&str] = &["", "eq", "ne", "lt", "lte", "gt", "gte", "in", "contains", "exists"];

fn one<'a>(random: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[random.usize(..choices.len())]
}

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

struct Filter {
    member: &'static str,
    operator: &'static str,
    operand: String,
}

struct Query {
    filters: Vec<Filter>,
    /// Members, and whether the greatest comes first.
    sort: Vec<(&'static str, bool)>,
}

impl Query {
    fn random(random: &mut Rng) -> Self {
        let filters = (0..random.usize(..3)).map(|_| Filter::random(random)).collect();
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
        let mut text: Vec<_> = self.filters.iter().map(Filter::text).collect();
        if !self.sort.is_empty() {
            let keys: Vec<_> = self
                .sort
                .iter()
                .map(|(name, descending)| format!("{}{name}", if *descending { "-" } else { "" }))
                .collect();
            text.push(format!("sort={}", keys.join(",")));
        }
        text.join("&")
    }

    /// The numbers of the items that it finds, by the letter of the documentation.
    fn naive(&self, items: &[Value]) -> Vec<u64> {
        let mut found: Vec<_> = items
            .iter()
            .filter(|item| self.filters.iter().all(|filter| filter.holds(&item[filter.member])))
            .collect();
        found.sort_by(|left, right| {
            let keys = self
                .sort
                .iter()
                .map(|(member, descending)| in_order(&left[*member], &right[*member], *descending));
            keys.fold(Ordering::Equal, Ordering::then)
        });
        found.into_iter().filter_map(|item| item["n"].as_u64()).collect()
    }
}

impl Filter {
    fn random(random: &mut Rng) -> Self {
        let (member, operator) =
            (one(random, &["x", "y", "z", "n", "nothing"]), one(random, OPERATORS));
        let operand = match operator {
            "exists" => random.bool().to_string(),
            "in" => {
                (0..random.usize(1..4)).map(|_| one(random, OPERANDS)).collect::<Vec<_>>().join(",")
            }
            "contains" => {
                one(random, &["a", "A", "ñ", "7", "%", "_", "🐟", ".5", "b", "-"]).to_owned()
            }
            _ => one(random, OPERANDS).to_owned(),
        };
        Self { member, operator, operand }
    }

    fn text(&self) -> String {
        let operator =
            if self.operator.is_empty() { String::new() } else { format!("[{}]", self.operator) };
        format!("filter[{}]{operator}={}", self.member, encoded(&self.operand))
    }

    fn holds(&self, value: &Value) -> bool {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let any = |holds: &dyn Fn(&Value, &str) -> bool| {
            values.iter().any(|value| holds(value, &self.operand))
        };
        let compared = |wanted: &[Ordering]| {
            any(&|value, operand| {
                compared(value, operand).iter().any(|found| wanted.contains(found))
            })
        };
        match self.operator {
            "" | "eq" => any(&equals),
            "ne" => !value.is_null() && !any(&equals),
            "lt" => compared(&[Ordering::Less]),
            "lte" => compared(&[Ordering::Less, Ordering::Equal]),
            "gt" => compared(&[Ordering::Greater]),
            "gte" => compared(&[Ordering::Greater, Ordering::Equal]),
            "in" => self
                .operand
                .split(',')
                .any(|operand| values.iter().any(|value| equals(value, operand))),
            "contains" => any(&|value, piece| {
                value
                    .as_str()
                    .is_some_and(|text| text.to_lowercase().contains(&piece.to_lowercase()))
            }),
            _ => value.is_null() != (self.operand == "true"),
        }
    }
}

fn equals(value: &Value, operand: &str) -> bool {
    compared(value, operand) == Some(Ordering::Equal)
        || value.as_bool().is_some_and(|boolean| boolean.to_string() == operand)
}

/// How a value compares with what was written, if both can be of one type.
fn compared(value: &Value, operand: &str) -> Option<Ordering> {
    let number = serde_json::from_str::<Value>(operand).ok().and_then(|number| number.as_f64());
    let is_text = number.is_none() || !operand.contains('.');
    match value {
        Value::Number(own) => own.as_f64()?.partial_cmp(&number?),
        Value::String(own) if is_text => Some(own.as_str().cmp(operand)),
        _ => None,
    }
}

/// The order of two values: numbers, texts, the rest by its JSON text; absent ones last whatever
/// the direction.
fn in_order(left: &Value, right: &Value, descending: bool) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        _ => 2,
    };
    let own = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return left.is_null().cmp(&right.is_null()),
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)).then_with(|| left.to_string().cmp(&right.to_string())),
    };
    if descending { own.reverse() } else { own }
}

fn ns(items: &[Value]) -> Vec<u64> {
    items.iter().filter_map(|item| item["n"].as_u64()).collect()
}

#[test]
fn both_stores_answer_as_the_documentation_says() {
    let seed = std::env::var("TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("TEST_SEED={seed} asks the same again");
    let mut random = Rng::with_seed(seed);
    let services = [Store::Sqlite, Store::Postgres].map(Service::start);
    for _ in 0..4 {
        let count = random.usize(20..120);
        let bodies = random_bodies(&mut random, count);
        for service in &services {
            service.put(COLLECTION).json(format!("[{}]", bodies.join(","))).send().expect(200);
        }
        let items: Vec<Value> =
            bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        for _ in 0..150 {
            let query = Query::random(&mut random);
            let expected = query.naive(&items);
            for service in &services {
                agree(service, &query.text(), &expected, random.usize(2..60));
            }
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
    let pages = walk(
        service,
        &format!("{COLLECTION}?{query}&page_size={page_size}&fields=n"),
        "next",
        |page| {
            last = page.link("self").expect("a link to itself");
        },
    );
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
