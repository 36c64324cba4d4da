//! Random items and conditions on them.

use std::collections::HashMap;
use std::sync::Arc;

use application::{ItemChange, ItemRepository, WriteMetadata};
use domain::json::encode_string;
use domain::predicate::{
    Comparison, Double, Judged, Literal, Lookups, Operand, Related, RelatedKey, RelatedValue,
    Subject, Test, ValueKind,
};
use domain::{Collection, Found, Item, ItemId, Lookup, Predicate};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use tests::callers::warrant_of;
use tests::number;
use tests::random_query::VALUES;

use crate::store::{NOW, TestStore, all, everything, new_item, next_id};

/// Items of each collection and creator that are written at a time.
const ITEMS: usize = 2;

const COLLECTIONS: [&str; 5] = ["proposals", "lib", "status", "files", "proposedprograms"];

const NAMES: &[&str] =
    &["x", "y", "subject", "proposal_id", "research_type", "a.b", "a\"b", "0", "", "ñ", "$", "[0]"];

const MORE: &[&str] = &[
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "1.7976931348623157e308",
    "1e305",
    "100.10",
    "123456789012345678901234567890",
    "0.30000000000000004",
    "0.3",
    r#""a\"b""#,
    r#"{"0":"zero","a":{"b":{"c":"x"}},"":1}"#,
    r#"{"a\"b":null,"a.b":[1]}"#,
    r#"[{"a":1},["a"],"a",7.0,true]"#,
    r#"["7",7,null]"#,
    "[[0]]",
];

const CREATORS: [Option<&str>; 4] = [None, Some("ana"), Some("ben\"'"), Some("Ñ")];

pub struct Choices {
    pub random: Rng,
    pub items: Vec<(Collection, Arc<Item>)>,
}

impl Choices {
    fn one<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.random.usize(..texts.len())]
    }

    pub fn collection(&mut self) -> Collection {
        Collection::known(self.one(&COLLECTIONS))
    }

    pub fn id(&mut self) -> ItemId {
        match self.random.choice(&self.items) {
            Some((_, item)) if self.random.u8(..12) > 0 => item.id,
            _ => next_id(),
        }
    }

    /// A value of a member, as JSON.
    fn value(&mut self) -> String {
        match self.random.u8(..12) {
            0..3 => format!("\"{}\"", self.id()),
            3 => format!("\"{}\"", self.id().to_string().to_uppercase()),
            4 => format!("\"{}\"", self.long()),
            5 => format!("1{}", "0".repeat(self.random.usize(..500))),
            6..9 => self.one(MORE).to_owned(),
            _ => self.one(VALUES).to_owned(),
        }
    }

    /// A text around the length of a key.
    fn long(&mut self) -> String {
        let end = self.one(&["", "a", "b", "ñ"]);
        format!("{}{end}", "ñ".repeat(self.random.usize(199..=201)))
    }

    fn members(&mut self) -> String {
        let mut members = Vec::new();
        for name in NAMES {
            if self.random.u8(..3) > 0 {
                members.push(format!("{}:{}", encode_string(name), self.value()));
            }
        }
        format!("{{{}}}", members.join(","))
    }

    fn text(&mut self) -> String {
        match self.random.u8(..10) {
            0..3 => self.id().to_string(),
            3 => self.id().to_string().to_uppercase(),
            4 => self.long(),
            5 => self.one(&["ana", "ben\"'", "Ñ", "an", ""]).to_owned(),
            6 => self.one(&["a\0", "\0", "7\0b", "a"]).to_owned(),
            _ => {
                let value = self.one(&[MORE, VALUES].concat());
                let value = domain::Value::from_encoded(value);
                value.as_string().unwrap_or_else(|| value.encoded().into()).into_owned()
            }
        }
    }

    fn literal(&mut self) -> Literal {
        match self.random.u8(..9) {
            0 => Literal::Null,
            1 => Literal::Boolean(self.random.bool()),
            2..5 => {
                let values = [MORE, VALUES].concat();
                let written = self.one(&values).parse().unwrap_or(7.0_f64);
                Literal::Number(Double::new(written.clamp(-1e300, 1e300)).unwrap())
            }
            5 => {
                let some = self.random.choice(&self.items);
                let time = some.map_or(Timestamp::UNIX_EPOCH, |(_, item)| item.created_at);
                Literal::Time(time + SignedDuration::from_nanos(self.random.i64(-1500..1500)))
            }
            _ => Literal::String(self.text().into()),
        }
    }

    fn operand(&mut self) -> Operand {
        Operand::current(match self.random.u8(..16) {
            0 => Subject::Id,
            1 => Subject::Parent,
            2 => Subject::CreatedBy,
            3 => Subject::CreatedAt,
            4 => {
                let names = (0..self.random.usize(..4))
                    .map(|_| self.one(&["x", "a", "b", "0", "c", "y\0"]));
                Subject::Member(names.map(Into::into).collect::<Vec<_>>().into())
            }
            5 => Subject::Member(
                ["x".into(), self.one(&["0", "a", "", "a\"b", "a.b"]).into()].into(),
            ),
            _ => Subject::Member([self.one(NAMES).into()].into()),
        })
    }

    fn test(&mut self) -> Test {
        let kinds = [
            ValueKind::Null,
            ValueKind::Boolean,
            ValueKind::Number,
            ValueKind::String,
            ValueKind::List,
            ValueKind::Object,
        ];
        let comparisons = [Comparison::Equal, Comparison::Less, Comparison::AtMost];
        match self.random.u8(..9) {
            0 => Test::Exists,
            1 => Test::Is(kinds[self.random.usize(..6)]),
            2 => {
                let text = self.text();
                let count = self.random.usize(..=text.chars().count());
                Test::StartsWith(text.chars().take(count).collect::<String>().into())
            }
            3..5 => Test::Includes(self.literal()),
            _ => Test::Compare(comparisons[self.random.usize(..3)], self.literal()),
        }
    }

    fn related(&mut self, depth: u8) -> Related {
        let key = match self.random.u8(..8) {
            0 | 1 => RelatedKey::Id,
            2 | 3 => RelatedKey::Parent,
            _ => RelatedKey::Member(self.one(NAMES).into()),
        };
        let value = match self.random.u8(..8) {
            0 => RelatedValue::String(self.text().into()),
            1..4 => RelatedValue::Operand(Operand::current(Subject::Id)),
            _ => RelatedValue::Operand(self.operand()),
        };
        let latest = self.random.bool().then(|| self.predicate(depth - 1));
        Related {
            collection: self.collection(),
            key,
            value,
            latest,
            holds: self.predicate(depth - 1),
        }
    }

    /// A condition whose items are found by indexes.
    pub fn selective(&mut self, depth: u8) -> Predicate {
        let operands = [
            Operand::current(Subject::Id),
            Operand::current(Subject::Parent),
            Operand::member("research_type"),
            Operand::member("subject"),
            Operand::member("proposal_id"),
        ];
        let operand = operands[self.random.usize(..operands.len())].clone();
        match self.random.u8(..if depth == 0 { 4 } else { 8 }) {
            0 => {
                let creator = self.one(&["ana", "ben\"'", "Ñ", "x"]);
                Predicate::equals(
                    Operand::current(Subject::CreatedBy),
                    Literal::String(creator.into()),
                )
            }
            1..4 => {
                // Mostly the value of an item.
                let name = self.one(&["research_type", "subject", "proposal_id"]);
                let some = self.random.choice(&self.items);
                let held = some.and_then(|(_, item)| written(item, name));
                let text = held.unwrap_or_else(|| self.text());
                Predicate::equals(operand, Literal::String(text.into()))
            }
            4 => self.selective(depth - 1).or(self.selective(depth - 1)),
            5 => self.predicate(depth - 1).and(self.selective(depth - 1)),
            _ => {
                let mut related = self.related(depth);
                related.value = RelatedValue::Operand(operand);
                related.holds = self.selective(depth - 1);
                Predicate::related(related)
            }
        }
    }

    pub fn predicate(&mut self, depth: u8) -> Predicate {
        match self.random.u8(..if depth == 0 { 5 } else { 12 }) {
            0 => Predicate::Constant(self.random.u8(..3) > 0),
            1..5 => {
                let operand = self.operand();
                Predicate::Test(operand, self.test())
            }
            5 => Predicate::Not(Box::new(self.predicate(depth - 1))),
            6 => Predicate::All(
                (0..self.random.usize(..3)).map(|_| self.predicate(depth - 1)).collect(),
            ),
            7 => Predicate::Any(
                (0..self.random.usize(..3)).map(|_| self.predicate(depth - 1)).collect(),
            ),
            _ => Predicate::Related(Box::new(self.related(depth))),
        }
    }
}

/// The results of lookups, as the store finds them.
#[derive(Default)]
pub struct Known {
    found: HashMap<Lookup, Found>,
    missing: Vec<Lookup>,
}

impl Lookups for Known {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        if !self.found.contains_key(&lookup) {
            self.missing.push(lookup.clone());
        }
        self.found.get(&lookup)
    }
}

impl Known {
    pub async fn judge(
        &mut self,
        items: &dyn ItemRepository,
        predicate: &Predicate,
        item: &Item,
    ) -> bool {
        loop {
            if let Some(holds) = predicate.judge(Judged::of(item), self) {
                return holds;
            }
            for lookup in std::mem::take(&mut self.missing) {
                let found = items.look_up(&lookup).await.unwrap();
                self.found.insert(lookup, found);
            }
        }
    }
}

/// Random items. Many of them name others.
pub async fn filled(store: &TestStore) -> Choices {
    let seed = number("TEST_SEED", fastrand::u64(..));
    println!("TEST_SEED={seed}");
    let mut choices = Choices { random: Rng::with_seed(seed), items: Vec::new() };
    for name in COLLECTIONS.iter().cycle().take(2 * COLLECTIONS.len()) {
        let collection = Collection::known(name);
        for creator in CREATORS {
            let proposals = choices.items.iter().filter(|(own, _)| own.name() == "proposals");
            let parents: Vec<_> = proposals.map(|(_, item)| item.id).collect();
            let changes = (0..ITEMS).map(|_| {
                let members = choices.members();
                let parent = collection.parent().and_then(|_| choices.random.choice(&parents));
                ItemChange { parent: parent.copied(), ..ItemChange::insert(new_item(&members)) }
            });
            let changes: Vec<_> = changes.collect();
            let time = Timestamp::from_microsecond(NOW).unwrap();
            let metadata = WriteMetadata::under(warrant_of(creator), time);
            store.items.write_all(collection, changes, metadata).await.unwrap();
        }
        let known: Vec<_> = choices.items.iter().map(|(_, item)| item.id).collect();
        let page = store.select(all(collection), &everything(all(collection))).await;
        let fresh = page.items.iter().map(|listed| listed.shown.item.clone());
        let fresh = fresh.filter(|item| !known.contains(&item.id));
        choices.items.extend(fresh.map(|item| (collection, Arc::new(item))));
    }
    choices
}

pub fn written(item: &Item, name: &str) -> Option<String> {
    domain::Value::from_encoded(&item.members).member(name)?.as_written().map(Into::into)
}
