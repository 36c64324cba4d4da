//! Random members of items.

use std::fmt::Write as _;
use std::sync::Arc;

use application::SearchTerm;
use domain::{Collection, ItemId};
use fastrand::Rng;
use serde_json::Value;
use tests::random_query::{VALUES, one};

/// The words of strings; few, so that searches find something.
pub const WORDS: &[&str] = &["rice", "maize", "soil", "water", "coast", "upland"];

const TYPES: &[&str] =
    &[r#""Applied""#, r#""applied""#, r#""Basic""#, r#""Pilot Testing""#, r#""Ñandú""#];
const RESEARCHERS: &[&str] = &[r#""R-1""#, "7", r#""7""#, "12"];
const DAYS: &[&str] = &[r#""2026-01-01""#, r#""2026-06-30""#, r#""2027-01-01""#];

const YEARS: &[&str] = &["2026", r#""2026""#, "2027", r#""20 26""#, "null"];

/// Amounts of a month, and their hundredths.
pub const AMOUNTS: &[(&str, u64)] = &[
    (r#""12500.00""#, 1_250_000),
    ("0.07", 7),
    (r#""0.10""#, 10),
    ("3", 300),
    (r#""0.00""#, 0),
    (r#""-5""#, 0),
    (r#""much""#, 0),
];

/// A name that needs escaping, and values that an inexact reader changes.
pub const ODD_NAME: &str = "a\"b.$[0]'ñ\n";

const ODD: &[&str] = &[
    "100.10",
    "123456789012345678901234567890",
    "1.0E+2",
    "-0",
    r#"{"b":1,"a":[null,true,{}]}"#,
    r#""Ñ ₱ 😀 \u00e9 \"q\" \\""#,
];

/// The members of an item: as they are written, one by one, and as a value.
#[derive(Debug)]
pub struct Body {
    pub encoded: Arc<str>,
    /// Each name with its value as it is written.
    members: Vec<(&'static str, String)>,
    pub value: Value,
}

impl Body {
    /// Random members of a collection's items; references lead to one of `targets`.
    pub fn random(random: &mut Rng, collection: Collection, targets: &[ItemId]) -> Self {
        let mut members = Vec::new();
        let mut add = |random: &mut Rng, name, choices: &[&str]| {
            if random.u8(..4) > 0 {
                members.push((name, one(random, choices).to_owned()));
            }
        };
        add(random, "x", VALUES);
        add(random, ODD_NAME, ODD);
        match collection.name() {
            "proposals" => {
                add(random, "proposal_type", VALUES);
                // Stores keep the first 200 characters in a column that they sort by.
                let long = [(199, ""), (200, ""), (200, "a"), (200, "b")];
                let long = long.map(|(count, end)| format!("\"{}{end}\"", "ñ".repeat(count)));
                let types: Vec<_> =
                    TYPES.iter().copied().chain(long.iter().map(String::as_str)).collect();
                add(random, "research_type", &types);
                add(random, "researcher_id", RESEARCHERS);
                add(random, "start_date", DAYS);
            }
            "status" => add(random, "subject", &[VALUES, ODD].concat()),
            "cashprogram" => {
                let amounts: Vec<_> = AMOUNTS.iter().map(|(written, _)| *written).collect();
                add(random, "year", YEARS);
                add(random, "jan_amount", &amounts);
                add(random, "dec_amount", &amounts);
            }
            _ => {
                add(random, "y", VALUES);
                add(random, "document_type", TYPES);
            }
        }
        for reference in collection.spec().references {
            match random.u8(..8) {
                0 => members.push((reference.member, "12".to_owned())),
                1 | 2 => {}
                _ => {
                    members.push((
                        reference.member,
                        format!("\"{}\"", random.choice(targets).unwrap()),
                    ));
                }
            }
        }
        if random.bool() {
            let words: Vec<_> = (0..random.usize(1..5)).map(|_| one(random, WORDS)).collect();
            members.push(("notes", format!("\"{}\"", words.join(" "))));
        }
        if random.u8(..30) == 0 {
            let long = "x".repeat(random.usize(3_000..30_000));
            // Counts distinguish values by their first 200 characters.
            let about_the_bound = "ñ".repeat(random.usize(195..205));
            members.push(("long", format!("\"{}\"", one(random, &[&*long, &about_the_bound]))));
        }
        random.shuffle(&mut members);
        Self::of(members)
    }

    pub fn of(members: Vec<(&'static str, String)>) -> Self {
        let encoded = encoded(members.iter().map(|(name, value)| (*name, value.as_str())));
        let value = serde_json::from_str(&encoded).unwrap();
        Self { encoded: encoded.into(), members, value }
    }

    /// The named members alone, in the order they are named.
    pub fn fields(&self, names: &[Arc<str>]) -> Arc<str> {
        let member = |name: &Arc<str>| self.members.iter().find(|(own, _)| *own == &**name);
        let found = names.iter().filter_map(member);
        encoded(found.map(|(name, value)| (*name, value.as_str()))).into()
    }

    /// The JSON text of a member.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.members.iter().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    /// A member that is a string, or a number as it is written.
    pub fn written(&self, name: &str) -> Option<&str> {
        match &self.value[name] {
            Value::String(own) => Some(own),
            Value::Number(_) => self.raw(name),
            _ => None,
        }
    }

    /// The amounts of its months in hundredths.
    pub fn amounts(&self) -> Vec<(String, u64)> {
        let Some(year) = self.written("year").filter(|year| year.len() == 4) else {
            return Vec::new();
        };
        let months = [("01", "jan_amount"), ("12", "dec_amount")].into_iter();
        let amounts = months.filter_map(|(month, name)| {
            let (_, amount) = AMOUNTS.iter().find(|(own, _)| self.raw(name) == Some(own))?;
            Some((format!("{year}-{month}"), *amount))
        });
        amounts.collect()
    }

    /// Returns whether one of its strings has these words, one after the other.
    pub fn has_words(&self, term: &SearchTerm) -> bool {
        let is_met = |(word, (wanted, is_beginning)): (&&str, (&str, bool))| {
            if is_beginning { word.starts_with(wanted) } else { *word == wanted }
        };
        let in_string = |string: &str| {
            let words: Vec<_> = string.split(' ').collect();
            let mut places = words.windows(term.words.len());
            places.any(|words| words.iter().zip(term.each_word()).all(is_met))
        };
        self.value["notes"].as_str().is_some_and(in_string)
    }
}

fn encoded<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut encoded = String::from("{");
    for (name, value) in members {
        let comma = if encoded.len() > 1 { "," } else { "" };
        write!(encoded, "{comma}{}:{value}", domain::json::encode_string(name)).unwrap();
    }
    encoded.push('}');
    encoded
}
