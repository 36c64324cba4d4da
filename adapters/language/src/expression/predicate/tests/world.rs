//! Random items, and the results of lookups among them.

use std::collections::HashMap;

use domain::predicate::{Judged, Lookups};
use domain::{
    Collection, Found, Item, ItemId, Lookup, LookupKey, Members, Principal, Value, Version,
    WriteContext, WriteOperation,
};

use super::LOOKUPS;
use crate::expression::{CostLimit, LookupTarget, Meta, Meter, Scope, Shape};

/// A linear congruential generator, with the constants of Knuth's MMIX.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }

    pub fn is_one_of(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

const VALUES: [&str; 24] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "1.0",
    "2",
    "1.5",
    "-3",
    "1e300",
    "-1e-300",
    "12345678901234567890",
    "123456789012345678.25",
    r#""x""#,
    r#""xy""#,
    r#""""#,
    r#""é\"q\\""#,
    r#""1""#,
    r#""\u0000""#,
    "[]",
    r#"["x",1,null,true,["x"],{"x":1}]"#,
    r#"{"x":1,"é\"q\\":2}"#,
    r#"[1.5,"é\"q\\",false]"#,
];

fn id(number: usize) -> String {
    format!("019a9a9a-0000-7000-8000-{number:012}")
}

fn value(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.is_one_of(2) {
        format!(r#"{{"c":{}}}"#, value(random, depth - 1))
    } else if random.is_one_of(8) {
        format!("\"{}\"", id(random.below(6)))
    } else {
        random.pick(&VALUES).to_owned()
    }
}

pub fn members(random: &mut Random) -> Members {
    let mut json = Vec::new();
    for name in ["a", "b", "flag", "tags", "m n", "id", "parent", "meta"] {
        if !random.is_one_of(if name.len() > 4 || name == "id" { 2 } else { 4 }) {
            let depth = usize::from(name == "b");
            json.push(format!("\"{name}\":{}", value(random, depth)));
        }
    }
    for name in ["program", "subject"] {
        match random.below(8) {
            0 => {}
            1 => json.push(format!("\"{name}\":{}", value(random, 0))),
            _ => json.push(format!("\"{name}\":\"{}\"", id(random.below(6)))),
        }
    }
    Members::read(format!("{{{}}}", json.join(",")).as_bytes()).unwrap().unwrap()
}

pub fn item(random: &mut Random) -> Item {
    Item {
        id: ItemId::parse(&id(random.below(6))).unwrap(),
        version: Version::FIRST,
        created_at: format!("202{}-01-01T00:00:00Z", random.below(9)).parse().unwrap(),
        updated_at: jiff::Timestamp::UNIX_EPOCH,
        members: members(random).into_encoded(),
        parent: if random.is_one_of(3) { None } else { ItemId::parse(&id(random.below(6))) },
        continues: None,
        created_by: [None, Some("ana".into()), Some("é\"q\\".into())][random.below(3)].clone(),
    }
}

pub fn context(random: &mut Random) -> WriteContext {
    let attributes = [
        r#"{"agency":"x","level":1,"flag":true,"agencies":["x",1,null,"é\"q\\"]}"#,
        r#"{"agency":"xy","level":2,"flag":false,"agencies":[]}"#,
        r#"{"agency":null,"level":"1","agencies":["xy",true,1.5]}"#,
        "{}",
    ];
    let attributes = Members::read(random.pick(&attributes).as_bytes()).unwrap().unwrap();
    let roles = if random.is_one_of(2) { Box::default() } else { Box::from(["author".into()]) };
    let caller = Principal::with("ana".into(), roles, &attributes, (None, None));
    let caller = (!random.is_one_of(4)).then(|| caller.into());
    let today = jiff::civil::date(2026, 2, 1);
    WriteContext { caller, today, ..WriteContext::any(WriteOperation::Patch) }
}

/// Items of all collections.
pub struct World {
    items: Vec<(Collection, Item)>,
    known: HashMap<Lookup, Found>,
}

impl World {
    pub fn new(random: &mut Random) -> Self {
        let mut items: Vec<(Collection, Item)> = Vec::new();
        for (_, collection, ..) in LOOKUPS {
            for _ in 0..random.below(4) {
                let (collection, item) = (Collection::known(collection), item(random));
                if items.iter().all(|(of, known)| (*of, known.id) != (collection, item.id)) {
                    items.push((collection, item));
                }
            }
        }
        items.sort_by_key(|(_, item)| item.id);
        Self { items, known: HashMap::new() }
    }

    fn find(&self, lookup: &Lookup) -> Found {
        let is_found = |item: &Item| match &lookup.key {
            LookupKey::Id(id) => item.id == *id,
            LookupKey::Parent(parent) => item.parent == Some(*parent),
            LookupKey::Member { name, value: wanted } => {
                let mut entries = Value::from_encoded(&item.members).entries().unwrap();
                entries.any(|(own, value)| {
                    let is_number = value.as_number() == Some(&**wanted);
                    own == &**name && (is_number || value.as_string().as_deref() == Some(wanted))
                })
            }
            LookupKey::Nothing => false,
        };
        let of = self.items.iter().filter(|(of, item)| {
            *of == lookup.collection && item.id != lookup.without && is_found(item)
        });
        Found::of(of.map(|(_, item)| item.clone()).collect())
    }

    /// Evaluates the keys. A lookup that is not decided is like one that finds too much.
    pub fn found(&self, targets: &[(String, LookupTarget)], scope: &Scope<'_>) -> Vec<Found> {
        let meter = Meter::of(CostLimit::Verdict);
        let mut all: Vec<Found> = Vec::new();
        for (name, target) in targets {
            let (_, _, _, source) = LOOKUPS.iter().find(|(known, ..)| known == name).unwrap();
            let outer = targets.iter().position(|(of, _)| source.starts_with(&format!("{of}.")));
            let outer = outer.map(|place| &all[place]);
            // The item that has the key is not found.
            let without = match outer {
                Some(Found::Items(items)) if !items.is_empty() => items[0].id,
                _ => scope.context.id,
            };
            let scope = Scope { found: &all, ..*scope };
            let is_number = target.value.json(&scope, &meter, 100).is_ok_and(|(json, _)| {
                !source.starts_with("caller")
                    && json.text.starts_with(|it: char| it == '-' || it.is_ascii_digit())
            });
            let found = match target.key(&scope, &meter) {
                Ok(key) if !is_number => {
                    self.find(&Lookup { collection: target.collection, key, without })
                }
                _ => Found::TooMany,
            };
            all.push(found);
        }
        all
    }
}

impl Lookups for World {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        let found = self.find(&lookup);
        Some(self.known.entry(lookup).or_insert(found))
    }
}

/// Returns the scope of an evaluation by the language, without results of lookups.
pub fn scope<'a>(
    judged: Judged<'a>,
    members: &'a [Members; 2],
    context: &'a WriteContext,
    lookups: &'a [(String, Shape)],
) -> Scope<'a> {
    Scope {
        after: &members[0],
        before: judged.old.map(|_| &members[1]),
        context,
        lookups,
        found: &[],
        meta: Some(Meta::of(judged.current)),
        trace: None,
    }
}
