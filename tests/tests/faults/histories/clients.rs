//! Clients that record their calls of an item, with the answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::Value;
use tests::Request;

use super::instances::Instances;
use super::operation::{Answer, Call, NAMES, Operation, State, json};
use crate::FILES;

/// The time until a client gives up a call.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// The longest pause between two calls, in milliseconds.
const PAUSE: u64 = 30;

/// Calls of a client until it waits for a moment without a call of the item.
const CALLS: u32 = 50;

/// The latest states of an item that clients use.
const KNOWN: usize = 8;

pub const INITIAL: State = State { version: 1, members: Some([1, 0]) };

/// The instances, and what all clients share.
pub struct World {
    pub instances: Instances,
    pub begun: Instant,
    /// Set when the clients are to end.
    pub is_over: AtomicBool,
}

/// An item, and what its clients share.
pub struct Subject {
    pub path: String,
    /// The history in entity tags, which is the same throughout.
    history: String,
    /// The states in answers.
    known: Mutex<Vec<State>>,
    /// Locked for reading during each call; the lock for writing is a moment without a call.
    calls: RwLock<()>,
}

impl Subject {
    pub fn create(world: &World) -> Self {
        let address = world.instances.address(0).expect("the instance runs");
        let created = Request::new(address, "POST", FILES).json(json([1, 0])).expect(201);
        let (path, tag) = (format!("{FILES}/{}", created.id()), created.etag());
        let (_, history) = tag.trim_matches('"').split_once('.').expect("an entity tag");
        let (known, calls) = (Mutex::new(vec![INITIAL]), RwLock::default());
        Self { path, history: history.to_owned(), known, calls }
    }

    /// The answer in a response about this item.
    pub fn answer(&self, response: &tests::Answer) -> Answer {
        let status = response.status;
        assert!([200, 201, 204, 304, 404, 412].contains(&status), "{response}");
        let version = response.header("etag").map(|tag| {
            let (version, history) = tag.trim_matches('"').split_once('.').expect("an entity tag");
            assert_eq!(history, self.history, "the history in {response}");
            version.parse().expect("a version")
        });
        if status > 201 {
            return Answer { status, version, members: None };
        }
        let shown = answer_of(status, &response.value());
        assert_eq!(shown.version, version, "the version in {response}");
        shown
    }

    /// The answer about this item in a page of the collection.
    fn answer_in_page(&self, page: &tests::Answer) -> Answer {
        let is_own = |item: &&Value| self.path.ends_with(item["id"].as_str().expect("an id"));
        let absent = Answer { status: 404, version: None, members: None };
        page.items().iter().find(is_own).map_or(absent, |item| answer_of(200, item))
    }

    fn learn(&self, answer: &Answer) {
        let mut known = self.known.lock().unwrap();
        let last = known[known.len() - 1];
        match *answer {
            Answer { version: Some(version), members: Some(members), .. }
                if version > last.version =>
            {
                known.push(State { version, members: Some(members) });
            }
            // Deleted, in a version that the answer does not show.
            Answer { status: 204 | 404, .. } if last.members.is_some() => {
                known.push(State { members: None, ..last });
            }
            _ => {}
        }
    }
}

/// The answer that shows a representation, which has no other members.
pub fn answer_of(status: u16, item: &Value) -> Answer {
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or(0)).expect("small numbers");
    let mut names: Vec<_> = item.as_object().expect("an object").keys().collect();
    names.retain(|name| !["id", "_links", "_meta", NAMES[0], NAMES[1]].contains(&name.as_str()));
    assert!(names.is_empty(), "{item}");
    let version = Some(number(&item["_meta"]["version"]));
    Answer { status, version, members: Some(NAMES.map(|name| number(&item[name]))) }
}

/// A client of one item.
pub struct Client<'a> {
    pub world: &'a World,
    pub subject: &'a Subject,
    pub number: u32,
    pub random: Rng,
    /// The instance that answers its calls.
    pub at: usize,
    /// It has left another instance, and got no answer here so far.
    pub is_new: bool,
    pub calls: u32,
    pub record: Vec<Operation>,
}

impl Client<'_> {
    pub fn run(mut self) -> Vec<Operation> {
        while !self.world.is_over.load(Ordering::Relaxed) {
            self.calls += 1;
            let (call, condition) = self.choose();
            // It also leaves at random, rarely, because some instances are in trouble.
            if self.call(call, condition).is_none() || self.random.u8(..40) == 0 {
                // It only reads until it gets an answer there, so that few writes are unanswered.
                self.is_new = true;
                self.at = self.world.instances.another(self.at, &mut self.random);
            }
            if self.calls.is_multiple_of(CALLS) {
                drop(self.subject.calls.write());
            }
            sleep(Duration::from_millis(self.random.u64(..PAUSE)));
        }
        self.record
    }

    fn choose(&mut self) -> (Call, Option<u32>) {
        let known = self.subject.known.lock().unwrap().clone();
        let latest = known[known.len() - 1];
        let some = known[self.random.usize(known.len().saturating_sub(KNOWN)..known.len())];
        let condition = match self.random.u8(..8) {
            0..5 => Some(latest.version),
            5 => Some(some.version),
            _ => None,
        };
        // The values of all clients differ.
        let value = self.number * 1_000_000 + self.calls;
        let member = self.random.usize(..NAMES.len());
        let call = match (self.random.u8(..100), some.members) {
            _ if self.is_new => Call::Read,
            (0..20, Some(members)) if latest.members.is_none() => {
                return (Call::Restore(some.version, members), None);
            }
            (45..60, _) => Call::Replace([value, 0]),
            (60..70, _) => Call::Replace([1, value]),
            (70..73, _) => Call::Patch(member, 0),
            (73..88, _) => Call::Patch(member, value),
            (88..93, _) => Call::Delete,
            (93.., Some(members)) => Call::Restore(some.version, members),
            _ => Call::Read,
        };
        (call, condition)
    }

    /// Calls, and records it; `None` without an answer.
    fn call(&mut self, call: Call, condition: Option<u32>) -> Option<()> {
        let Self { subject, number, calls, at, .. } = *self;
        let is_page = call == Call::Read && condition.is_none() && calls % 2 == 0;
        let id = format!("{number}-{calls}-at-{at}{}", if is_page { "-page" } else { "" });
        let (method, path, body) = call.request();
        let target = format!("{}{path}", subject.path);
        let target = if is_page { &format!("{FILES}?page_size=250") } else { &target };
        let address = self.world.instances.address(at)?;
        let mut request = Request::new(address, method, target).header("x-request-id", &id);
        if let Some(version) = condition {
            let name = if call == Call::Read { "if-none-match" } else { "if-match" };
            request = request.header(name, format!("\"{version}.{}\"", subject.history));
        }
        if !body.is_empty() {
            request = request.json(body);
        }
        let calling = subject.calls.read();
        let start = self.world.begun.elapsed();
        let response = request.try_send_within(PATIENCE).filter(|response| response.status != 503);
        let end = self.world.begun.elapsed();
        drop(calling);
        let read = if is_page { Subject::answer_in_page } else { Subject::answer };
        let answer = response.map(|response| read(subject, &response));
        // A read without an answer says nothing.
        if answer.is_some() || call != Call::Read {
            let end = if answer.is_some() { end } else { Duration::MAX };
            self.record.push(Operation { id, call, condition, start, end, answer });
        }
        self.is_new &= answer.is_none();
        answer.map(|answer| subject.learn(&answer))
    }
}
