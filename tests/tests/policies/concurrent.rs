//! Reads during writes: an answer has no item that was hidden from its request to its arrival.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::End;

use crate::world::{PROPOSAL, World, on_each_store};

const POLICIES: &str = "policies:
  - {id: open, group: proposals, allow: [read], to: [anyone], when: self.research_type == 'open'}
  - {id: red, group: lib, allow: [read], to: [anyone], when: self.color == 'red'}
  - {id: staff, group: [proposals, lib], allow: [read, history, write], to: [staff]}
";

const WRITERS: usize = 8;
const READERS: usize = 3;
const TIME: Duration = Duration::from_secs(4);

/// A write of an item, and whether the item is visible after it.
struct Shown {
    begun: Instant,
    ended: Option<Instant>,
    is_visible: bool,
}

struct Item {
    path: String,
    /// A word that only this item has.
    name: String,
    /// A patch that hides it, and one that shows it.
    bodies: [String; 2],
    writes: Mutex<Vec<Shown>>,
}

impl Item {
    fn new(world: &World, (collection, name): (&str, String), member: &str, shown: &str) -> Self {
        let mut body = json!({ "item": name });
        if collection == "/v1/proposals" {
            body = serde_json::from_str(PROPOSAL).unwrap();
            body["project_title"] = json!(name);
        }
        let id = world.create("staff", collection, &body.to_string()).id();
        let bodies = ["hidden", shown].map(|value| json!({ member: value }).to_string());
        Self { path: format!("{collection}/{id}"), name, bodies, writes: Mutex::default() }
    }

    fn write(&self, world: &World, is_visible: bool) {
        let place = {
            let mut writes = self.writes.lock().unwrap();
            writes.push(Shown { begun: Instant::now(), ended: None, is_visible });
            writes.len() - 1
        };
        let patch =
            world.service.patch(&self.path).json(self.bodies[usize::from(is_visible)].as_str());
        world.send("staff", patch.header("if-match", "*")).expect(200);
        self.writes.lock().unwrap()[place].ended = Some(Instant::now());
    }

    fn was_hidden(&self, asked: Instant, answered: Instant) -> bool {
        let writes = self.writes.lock().unwrap();
        let has_ended = |it: &&Shown| it.ended.is_some_and(|ended| ended <= asked);
        let was_shown = writes.iter().rev().find(has_ended).is_some_and(|it| it.is_visible);
        let is_shown = |it: &Shown| !has_ended(&it) && it.begun < answered && it.is_visible;
        !was_shown && !writes.iter().any(is_shown)
    }
}

#[test]
fn no_answer_has_an_item_that_was_hidden_during_the_request() {
    on_each_store(|store| {
        let world = World::new(store, &[("staff", "staff")], POLICIES, &[]);
        let make = |writer: usize| {
            let name = |kind| format!("{kind}{}", (b'a' + u8::try_from(writer).unwrap()) as char);
            let title = ("/v1/proposals", name("secretproposal"));
            let proposal = Item::new(&world, title, "research_type", "open");
            let library = format!("{}/lib", proposal.path);
            let item = Item::new(&world, (&library, name("secretitem")), "color", "red");
            [proposal, item]
        };
        let items: Vec<_> = (0..WRITERS).map(make).collect();
        let reads = [
            "/v1/proposals",
            "/v1/proposals?embed=lib",
            "/lib?embed=proposal",
            "/explore/proposals",
        ];
        let mut reads: Vec<_> = reads.map(str::to_owned).to_vec();
        reads.extend(["/exports/proposals.ndjson", "/exports/lib.csv"].map(str::to_owned));
        reads.push("/v1/proposals?filter[project_title][contains]=secret&total=none".to_owned());
        reads.extend(items.iter().flatten().map(|item| item.path.clone()));
        let (is_over, found) = (AtomicBool::new(false), AtomicUsize::new(0));
        scope(|threads| {
            let _end = End(&is_over);
            let (world, is_over) = (&world, &is_over);
            for own in &items {
                threads.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        for item in own {
                            item.write(world, fastrand::bool());
                        }
                    }
                });
            }
            for _ in 0..READERS {
                threads.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let path = &reads[fastrand::usize(..reads.len())];
                        let asked = Instant::now();
                        let answer = world.service.get(path).send_unchecked();
                        let answered = Instant::now();
                        for item in
                            items.iter().flatten().filter(|it| answer.text().contains(&it.name))
                        {
                            found.fetch_add(1, Ordering::Relaxed);
                            assert!(!item.was_hidden(asked, answered), "{path}: {}", answer.text());
                        }
                    }
                });
            }
            sleep(TIME);
        });
        let found = found.into_inner();
        println!("{found} items in answers");
        assert!(found > 100);
    });
}
