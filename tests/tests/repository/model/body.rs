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

const TYPES: &[&str] = &[r#""Applied""#, r#""Basic""#, r#""Pilot Testing""#, r#""Ñandú""#];
const RESEARCHERS: &[&str] = &[r#""R-1""#, "7", r#""7""#, "12"];
const DAYS: &[&str] = &[r#""2026-01-01""#, r#""2026-06-30""#, r#""2027-01-01""#];
const SUBJECTS: &[&str] = &[r#""a""#, r#""ab""#, "7", r#""7""#, "null"];

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
        match collection.name() {
            "proposals" => {
                add(random, "research_type", TYPES);
                add(random, "researcher_id", RESEARCHERS);
                add(random, "start_date", DAYS);
            }
            "status" => add(random, "subject", SUBJECTS),
            _ => add(random, "y", VALUES),
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
            members.push(("long", format!("\"{}\"", "x".repeat(random.usize(3_000..30_000)))));
        }
        random.shuffle(&mut members);
        Self::of(members)
    }

    fn of(members: Vec<(&'static str, String)>) -> Self {
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

    /// Returns whether a member is this string, or a number written so.
    pub fn has(&self, name: &str, written: &str) -> bool {
        match &self.value[name] {
            Value::String(own) => own == written,
            Value::Number(_) => {
                self.members.iter().any(|(own, value)| *own == name && value == written)
            }
            _ => false,
        }
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
        write!(encoded, "{comma}\"{name}\":{value}").unwrap();
    }
    encoded.push('}');
    encoded
}
