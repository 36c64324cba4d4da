//! Answers have the same bytes after writes that the caller may not see.

use serde_json::{Value, json};
use tests::event_stream::EventStream;
use tests::random_query::one;

use crate::building::{Write, collection_of, path_of};
use crate::model::{Caller, Model};
use crate::policies::PolicySet;
use crate::requests::{Asked, Recorded, Subjects, absent, referring, refused};
use crate::scene::{Scene, Sizes, for_each_caller};
use crate::world::{GROUPS, soon};

impl Scene {
    /// Writes of the caller, which can be repeated with their keys.
    fn replays(&mut self, caller: Caller, count: usize) -> Vec<Asked> {
        let mut replays = Vec::new();
        for _ in 0..10 * count {
            let write = Write::random(&mut self.random, &self.model);
            if !matches!(write, Write::Create { .. } | Write::Restore { .. }) {
                continue;
            }
            let key = format!("\"{}\"", self.random.u64(..));
            let asked = write.asked(&self.model).with("idempotency-key", key);
            if let Some((after, _)) = write.make_as(&asked, &self.world, &self.model, caller.name) {
                self.model = after;
                let preference =
                    one(&mut self.random, &["return=minimal", "return=representation"]);
                replays.push(asked.with("prefer", preference.to_owned()));
            }
            if replays.len() == count {
                break;
            }
        }
        replays
    }

    /// The answers to requests, and to those that follow from the answers.
    fn record(&mut self, set: &PolicySet, caller: Caller, count: usize) -> Vec<(Asked, Recorded)> {
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        let asked = subjects.random(&mut self.random, count);
        let mut recorded: Vec<_> = Vec::new();
        let mut follow = Vec::new();
        for asked in asked {
            let answer = asked.send(&self.world, caller.name);
            follow.extend(asked.following(&answer));
            recorded.push((asked, answer));
        }
        self.random.shuffle(&mut follow);
        for asked in follow.into_iter().take(count / 2) {
            let answer = asked.send(&self.world, caller.name);
            recorded.push((asked, answer));
        }
        recorded
    }

    /// Makes a write that the caller cannot see: the same versions of items are visible after it,
    /// with the same members, and the same items can be changed and deleted.
    fn hidden_write(&mut self, set: &PolicySet, caller: Caller) -> Option<Write> {
        let view = |model: &Model| {
            let sight = model.sight(&set.reading, caller);
            let shown = &sight | &model.created(caller);
            let hidden = model.hidden_in(&shown, &set.hiding, caller);
            let updatable = model.sight(&set.updating, caller);
            (sight, hidden, updatable, model.with_hidden_children(&set.reading, caller))
        };
        let before = view(&self.model);
        let is_hidden = |after: &Model| view(after) == before;
        for _ in 0..100 {
            let write = Write::random(&mut self.random, &self.model);
            if is_hidden(&write.predict(&self.model, "staff"))
                && let Some((after, _)) = write.make(&self.world, &self.model, "staff")
            {
                assert!(is_hidden(&after), "{write:?}");
                self.model = after;
                return Some(write);
            }
        }
        None
    }

    fn hidden_writes_change_no_answer(&mut self, set: &PolicySet, caller: Caller, sizes: &Sizes) {
        let replays = self.replays(caller, sizes.hidden_writes / 2).into_iter();
        let replays: Vec<_> =
            replays.map(|asked| (asked.clone(), asked.send(&self.world, caller.name))).collect();
        // Counts by value follow writes, and searches wait for them.
        let is_behind = |group: &str| {
            let search = self.world.service.get(&format!("{}?q=zzzz", collection_of(group)));
            self.world.callers.sign("staff", search).send_unchecked().status == 503
        };
        soon("the index", || !GROUPS.into_iter().any(is_behind));
        let mut recorded = self.record(set, caller, sizes.requests);
        recorded.extend(replays);
        let writes: Vec<_> =
            (0..sizes.hidden_writes).filter_map(|_| self.hidden_write(set, caller)).collect();
        let mut differing = Vec::new();
        for (asked, before) in &recorded {
            let after = asked.send(&self.world, caller.name);
            if after.text() != before.text() {
                differing.push(format!("{asked:?}\n{}", before.difference(&after)));
            }
        }
        println!(
            "{} {}: {} requests, {} writes",
            set.name,
            caller.name,
            recorded.len(),
            writes.len()
        );
        if !differing.is_empty() {
            self.faults.push(format!(
                "{} under {}: {} answers differ after\n{writes:?}\n{}",
                caller.name,
                set.name,
                differing.len(),
                differing.join("\n"),
            ));
        }
    }

    /// A hidden item is answered for as one that never was.
    fn hidden_is_absent(&mut self, set: &PolicySet, caller: Caller, count: usize) {
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        if subjects.hidden.is_empty() {
            return;
        }
        for _ in 0..count {
            let random = &mut self.random;
            let item = subjects.hidden[random.usize(..subjects.hidden.len())];
            let mut is_masked = false;
            let asked = match random.u8(..3) {
                0 => subjects.read(random, item),
                1 if !subjects.visible.is_empty() => {
                    let visible = subjects.visible[random.usize(..subjects.visible.len())];
                    // It is no change to refer to the item again.
                    if visible.versions.iter().flatten().any(|it| it.to_string().contains(&item.id))
                    {
                        continue;
                    }
                    is_masked = set.hiding.iter().any(|it| it.group == visible.group);
                    referring(random, visible, &item.id)
                }
                _ => refused(random, item),
            };
            let other = absent(random);
            let [found, expected] = [asked.clone(), asked.about(&item.id, &other)]
                .map(|it| it.send(&self.world, caller.name).undated());
            let found = found.about(&item.id, &other);
            // Which members an item may have, and which of them the caller sees, can depend on the item
            // that it refers to.
            let is_about_members = found.is_about_members()
                || expected.is_about_members()
                || is_masked && found.status == expected.status;
            if found.text() != expected.text() && !is_about_members {
                self.faults.push(format!(
                    "{} under {}: hidden is not as absent: {asked:?}\n{}",
                    caller.name,
                    set.name,
                    found.difference(&expected),
                ));
            }
        }
    }

    /// A version is hidden if its content is, also of an item that is visible now.
    fn hidden_versions_are_absent(&mut self, set: &PolicySet, caller: Caller) {
        let sight = self.model.sight(&set.reading, caller);
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        for item in &subjects.visible {
            let hidden = (1..=item.versions.len()).filter(|number| {
                item.versions[number - 1].is_some() && !sight.contains(&(item.id.clone(), *number))
            });
            for number in hidden {
                let asked = Asked::get(format!("{}/versions/{number}", path_of(item)));
                let answer = asked.send(&self.world, caller.name);
                if answer.status < 400 {
                    let (name, set) = (caller.name, &set.name);
                    self.faults.push(format!("{name} under {set}: {asked:?}\n{}", answer.text()));
                }
            }
        }
    }

    /// A page of the past has no item that exists and is hidden now.
    fn hidden_is_absent_from_the_past(&mut self, set: &PolicySet, caller: Caller) {
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        let is_hidden = |id: &str| {
            let hidden = subjects.past.iter().chain(&subjects.hidden);
            hidden.filter(|item| item.current().is_some()).any(|item| item.id == id)
        };
        for group in GROUPS {
            let target = format!("{}?as_of={}&page_size=250", collection_of(group), self.middle);
            let answer = Asked::get(target).send(&self.world, caller.name);
            let page: Value = serde_json::from_slice(&answer.body).unwrap();
            let items = page["_embedded"][group].as_array().into_iter().flatten();
            for id in items.filter_map(|item| item["id"].as_str()).filter(|id| is_hidden(id)) {
                let (name, set) = (caller.name, &set.name);
                self.faults.push(format!("{name} under {set}: {id} is among the past {group}"));
            }
        }
    }

    /// A stream reports the next visible change, and no other.
    fn hidden_writes_are_not_streamed(&mut self, set: &PolicySet, caller: Caller) {
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        let Some(visible) = subjects.visible.first() else { return };
        let (id, text) = (visible.id.clone(), self.random.u64(..).to_string());
        let write = Write::Patch { id: id.clone(), body: json!({ "description": text }) };
        let after = write.predict(&self.model, "staff");
        if !after.sees(&set.reading, caller, &after.items[&id]) {
            return;
        }
        let mut stream = self.stream(caller);
        let hidden = self.hidden_write(set, caller);
        let (before, after) = (first_id(&mut stream), first_id(&mut self.stream(caller)));
        if before != after {
            self.faults.push(format!("{} starts elsewhere after {hidden:?}", caller.name));
        }
        // Generated policies deny staff to read some items too.
        let Some((after, _)) = write.make(&self.world, &self.model, "staff") else { return };
        self.model = after;
        let event = stream.event();
        if event.data["data"]["item_id"] != *id {
            self.faults.push(format!("{} receives {hidden:?}: {}", caller.name, event.data));
        }
    }

    fn stream(&self, caller: Caller) -> EventStream {
        let key = match caller.name {
            "anonymous" => String::new(),
            name => format!("Authorization: Bearer {}\r\n", self.world.callers.key(name)),
        };
        EventStream::open(self.world.service.address(), "", &key)
    }
}

/// The position at which a stream starts.
fn first_id(stream: &mut EventStream) -> String {
    std::iter::repeat_with(|| stream.content()).find(|line| line.starts_with("id: ")).unwrap()
}

#[test]
fn an_answer_does_not_depend_on_what_the_caller_may_not_see() {
    for_each_caller(1, |_, scene, set, caller, sizes| {
        scene.hidden_writes_change_no_answer(set, caller, sizes);
        scene.hidden_is_absent(set, caller, sizes.requests / 3);
        scene.hidden_versions_are_absent(set, caller);
        scene.hidden_is_absent_from_the_past(set, caller);
        scene.hidden_writes_are_not_streamed(set, caller);
    });
}
