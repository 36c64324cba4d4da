//! A random store: writes through the interface, each with its effect on the model.

use fastrand::Rng;
use serde_json::{Value, json};
use tests::Answer;
use tests::random_query::one;

use crate::model::{Item, Model};
use crate::requests::Asked;
use crate::world::World;

pub const WORDS: &[&str] =
    &["rice", "maize", "Rice", "añejo", "soil", "kit", "drought", "seed", "water", "island"];
pub const COLORS: &[&str] = &["red", "blue", "green"];
const CODES: &[&str] = &[
    "draft",
    "submitted",
    "in_review",
    "in_review",
    "in_review",
    "approved",
    "approved",
    "withdrawn",
];
pub const EVALUATORS: &[&str] = &["key:rita", "key:rita", "key:ana", "key:sam", "key:elsewhere"];

/// The callers who create items.
const CREATORS: &[&str] = &["ana", "ana", "ben", "cyd", "staff"];

/// Follows all ids, as the id of a new item does.
const NEW: &str = "ffffffff-ffff-7fff-bfff-ffffffffffff";

#[derive(Clone, Debug)]
pub enum Write {
    Create { group: &'static str, parent: Option<String>, continues: Option<String>, body: Value },
    Patch { id: String, body: Value },
    Replace { id: String, body: Value },
    Delete { id: String },
    Restore { id: String, version: usize },
}

pub fn collection_of(group: &str) -> String {
    if ["lib", "status"].contains(&group) { format!("/{group}") } else { format!("/v1/{group}") }
}

pub fn path_of(item: &Item) -> String {
    format!("{}/{}", collection_of(item.group), item.id)
}

fn words(random: &mut Rng) -> String {
    let count = random.usize(1..4);
    (0..count).map(|_| one(random, WORDS)).collect::<Vec<_>>().join(" ")
}

/// The id of a random item of a group, which may have been deleted.
fn some_id(random: &mut Rng, model: &Model, group: &str) -> Option<String> {
    let of_group: Vec<_> = model.items.values().filter(|item| item.group == group).collect();
    let living = model.living_of(group);
    let among = if living.is_empty() || random.u8(..8) == 0 { of_group } else { living };
    (!among.is_empty()).then(|| among[random.usize(..among.len())].id.clone())
}

fn body(random: &mut Rng, model: &Model, group: &str) -> Value {
    let mut body = json!({});
    let (color, text) = (one(random, COLORS), words(random));
    match group {
        "proposals" => {
            body = json!({"proposal_type": one(random, &["R&D Project", "Program"]), "project_title": text});
            body["start_date"] = format!("202{}-01-01", random.u8(4..8)).into();
            if random.bool() {
                body["research_type"] = color.into();
            }
            body["program_id"] = json!(some_id(random, model, "proposedprograms"));
        }
        "proposedprograms" => body["title"] = text.into(),
        "statuses" => body = json!({"code": one(random, CODES), "label": text}),
        "status" => {
            body["message"] = text.into();
            body["subject"] = json!(some_id(random, model, "proposals"));
            if random.u8(..4) > 0 {
                body["to_code"] = one(random, CODES).into();
            }
        }
        "gadscores" => {
            body = json!({"evaluator_id": one(random, EVALUATORS), "remarks": text});
            if random.bool() {
                body["rating"] = one(random, &["good", "poor"]).into();
            }
        }
        "files" => {
            body = json!({"name": text, "document_type": one(random, &["proposal", "budget"])});
        }
        "lib" => body = json!({"item": text, "expense_class": one(random, &["PS", "MOOE"])}),
        _ => {
            let amount = format!("{}.00", random.u16(..900));
            body = json!({"year": random.u16(2025..2028), "jan_amount": amount, "note": text});
        }
    }
    if ["gadscores", "files", "cashprogram"].contains(&group) && random.u8(..6) > 0 {
        body["proposal_id"] = json!(some_id(random, model, "proposals"));
    }
    if group != "proposals" {
        body["level"] = random.u8(..6).into();
        if random.u8(..4) > 0 {
            body["color"] = color.into();
        }
    }
    // A lookup and a condition treat `null` as absent; the model has neither.
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

impl Write {
    fn creation(random: &mut Rng, model: &Model, group: &'static str) -> Self {
        let parent = (group == "lib" && random.u8(..5) > 0).then(|| {
            let proposals = model.living_of("proposals");
            (!proposals.is_empty()).then(|| proposals[random.usize(..proposals.len())].id.clone())
        });
        let can_continue = ["proposals", "cashprogram"].contains(&group) && random.u8(..5) == 0;
        let continues = can_continue.then(|| {
            let old = model.living_of(group);
            (!old.is_empty()).then(|| old[random.usize(..old.len())].id.clone())
        });
        let (parent, continues) = (parent.flatten(), continues.flatten());
        Self::Create { group, parent, continues, body: body(random, model, group) }
    }

    pub fn random(random: &mut Rng, model: &Model) -> Self {
        const SHARES: [&str; 14] = [
            "proposedprograms",
            "statuses",
            "proposals",
            "proposals",
            "proposals",
            "status",
            "status",
            "status",
            "gadscores",
            "gadscores",
            "files",
            "files",
            "lib",
            "cashprogram",
        ];
        let kind = random.u8(..10);
        if kind < 6 || model.items.len() < 10 {
            let group = one(random, &SHARES);
            return Self::creation(random, model, group);
        }
        let items: Vec<_> = model.items.values().collect();
        let item = items[random.usize(..items.len())];
        let id = item.id.clone();
        let is_alive = item.current().is_some();
        if kind == 9 || !is_alive {
            let bodies = item.versions.iter().enumerate().filter(|(_, members)| members.is_some());
            let versions: Vec<_> = bodies.map(|(index, _)| index + 1).collect();
            return Self::Restore { id, version: versions[random.usize(..versions.len())] };
        }
        match kind {
            6 => {
                let mut patch = body(random, model, item.group);
                let kept = random.usize(..3);
                let members = patch.as_object_mut().unwrap();
                let names: Vec<_> = members.keys().cloned().collect();
                for name in names.iter().skip(kept + 1) {
                    members.remove(name);
                }
                Self::Patch { id, body: patch }
            }
            7 => Self::Replace { id, body: body(random, model, item.group) },
            _ => Self::Delete { id },
        }
    }

    /// The store after the write, if a new item has the highest of all ids.
    pub fn predict(&self, model: &Model, creator: &str) -> Model {
        let mut model = model.clone();
        match self {
            Self::Create { group, parent, continues: _, body } => {
                let (id, created_by) = (NEW.to_owned(), format!("key:{creator}"));
                let (parent, versions) = (parent.clone(), vec![Some(body.clone())]);
                let item = Item { id, group, created_by, parent, versions };
                model.items.insert(NEW.to_owned(), item);
            }
            Self::Patch { id, body } => {
                let item = model.items.get_mut(id).unwrap();
                let mut members = item.current().unwrap().clone();
                for (name, value) in body.as_object().unwrap() {
                    members[name] = value.clone();
                }
                item.versions.push(Some(members));
            }
            Self::Replace { id, body } => {
                model.items.get_mut(id).unwrap().versions.push(Some(body.clone()));
            }
            Self::Delete { id } => model.delete(id),
            Self::Restore { id, version } => {
                let item = model.items.get_mut(id).unwrap();
                item.versions.push(item.versions[version - 1].clone());
            }
        }
        model
    }

    pub fn asked(&self, model: &Model) -> Asked {
        let path = |id: &String| path_of(&model.items[id]);
        match self {
            Self::Create { group, parent, continues, body } => {
                let target = match (parent, continues) {
                    (Some(parent), _) => format!("/v1/proposals/{parent}/lib"),
                    (_, Some(old)) => path(old),
                    _ => collection_of(group),
                };
                Asked::write("POST", target, body.clone())
            }
            Self::Patch { id, body } => Asked::write("PATCH", path(id), body.clone()),
            Self::Replace { id, body } => Asked::write("PUT", path(id), body.clone()),
            Self::Delete { id } => Asked::write("DELETE", path(id), None),
            Self::Restore { id, version } => {
                Asked::write("POST", format!("{}/versions/{version}", path(id)), None)
            }
        }
    }

    /// Makes the write, and returns the store after it; `None` if it is refused.
    pub fn make(&self, world: &World, model: &Model, caller: &str) -> Option<(Model, Answer)> {
        self.make_as(&self.asked(model), world, model, caller)
    }

    /// The same with a request that may have other headers.
    pub fn make_as(
        &self,
        asked: &Asked,
        world: &World,
        model: &Model,
        caller: &str,
    ) -> Option<(Model, Answer)> {
        let answer = asked.answer(world, caller);
        if answer.status >= 300 {
            return None;
        }
        let mut after = self.predict(model, caller);
        if let Some(mut item) = after.items.remove(NEW) {
            item.id = answer.id();
            after.items.insert(item.id.clone(), item);
        } else if let Self::Patch { id, .. } | Self::Replace { id, .. } | Self::Restore { id, .. } =
            self
        {
            // A write that changes no member makes no version.
            let version = answer.value()["_meta"]["version"].as_u64().unwrap();
            after.items.get_mut(id).unwrap().versions.truncate(usize::try_from(version).unwrap());
        }
        Some((after, answer))
    }
}

/// Fills a store, and returns its items with a time in the middle.
pub fn fill(random: &mut Rng, world: &World, writes: usize) -> (Model, String) {
    let (mut model, mut middle, mut made) = (Model::default(), String::new(), 0);
    while made < writes {
        let write = Write::random(random, &model);
        let caller = one(random, CREATORS);
        let Some((after, answer)) = write.make(world, &model, caller) else { continue };
        (model, made) = (after, made + 1);
        if made <= writes / 2 && answer.status < 204 {
            let time = answer.value()["_meta"]["updated_at"].clone();
            time.as_str().unwrap().clone_into(&mut middle);
        }
    }
    (model, middle)
}
