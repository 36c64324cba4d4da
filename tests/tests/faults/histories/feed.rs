//! The change feed, which is followed through all instances and compared with the histories.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use tests::{Answer, Request, Service};

use super::clients::{INITIAL, PATIENCE, Subject, World};
use super::operation::{Call, Members, Operation, State};

/// Changes, and the page after them.
pub struct Feed {
    pub changes: Vec<Value>,
    next: String,
}

impl Feed {
    pub fn new() -> Self {
        Self { changes: Vec::new(), next: "/v1/changes?group=files&page_size=250".to_owned() }
    }

    /// Takes the changes of a page, without links, which name the instance.
    fn take(&mut self, page: &Answer) {
        self.next = page.link("next").expect("a next page");
        for mut change in page.embedded("changes") {
            change["_links"].take();
            self.changes.push(change);
        }
    }

    /// Follows the feed at any instance until the clients end.
    pub fn follow(mut self, world: &World, mut random: Rng) -> Self {
        let mut at = 0;
        while !world.is_over.load(Ordering::Relaxed) {
            at = world.instances.another(at, &mut random);
            let request = world.instances.address(at).map(|it| Request::new(it, "GET", &self.next));
            let page = request.and_then(|request| request.try_send_within(PATIENCE));
            if let Some(page) = page.filter(|page| page.status != 503) {
                self.take(&page.expect(200));
            }
            sleep(Duration::from_millis(50));
        }
        self
    }

    /// Reads to the end.
    pub fn complete(mut self, service: &Service) -> Self {
        loop {
            let length = self.changes.len();
            self.take(&service.read(&self.next));
            if self.changes.len() == length {
                return self;
            }
        }
    }

    /// The changes of an item.
    pub fn of(&self, subject: &Subject) -> Vec<Value> {
        let is_own = |change: &&Value| subject.path.ends_with(change["item_id"].as_str().unwrap());
        self.changes.iter().filter(is_own).cloned().collect()
    }
}

/// Compares the changes of an item with its history, which ends with a read. The writes that took effect
/// must be in the feed, each once, in an order that explains their answers, and lead to the state that
/// was read. `members` are those of a version.
pub fn compare(
    changes: &[Value],
    history: &[Operation],
    members: impl Fn(u32) -> Members,
) -> Result<(), String> {
    let calls = history.iter().filter(|operation| operation.call != Call::Read);
    let mut calls: HashMap<_, _> = calls.map(|call| (call.id.as_str(), call)).collect();
    let (mut states, mut latest) = (vec![INITIAL], Duration::ZERO);
    for change in changes.iter().skip(1) {
        let state = states[states.len() - 1];
        let call = calls.remove(change["request_id"].as_str().unwrap_or_default());
        let call = call.ok_or_else(|| format!("no call, or a second change of it: {change}"))?;
        let (answer, next) = state.respond(call.call, call.condition);
        let kind = match (call.call, state.members) {
            (Call::Restore(..), None) => "created",
            (Call::Patch(..), _) => "patched",
            (Call::Delete, _) => "deleted",
            _ => "replaced",
        };
        for (is_right, rule) in [
            (next != state, "it changes nothing"),
            (call.answer.is_none_or(|given| given == answer), "it has another answer"),
            (call.end >= latest, "it ended before an earlier change was requested"),
            (change["version"] == next.version, "it has another version"),
            (change["kind"] == kind, "it has another kind"),
            (next.members.is_none_or(|it| it == members(next.version)), "it has other members"),
        ] {
            if !is_right {
                return Err(format!("after {state} {rule}:\n{change}\n{call}"));
            }
        }
        latest = latest.max(call.start);
        states.push(next);
    }
    let is_without_change = |call: &&&Operation| {
        let respond = |state: &State| state.respond(call.call, call.condition);
        call.answer.is_none_or(|given| states.iter().any(|it| respond(it) == (given, *it)))
    };
    if let Some(missing) = calls.values().find(|call| !is_without_change(call)) {
        return Err(format!("there is no change of {missing}"));
    }
    let (last, end) = (history[history.len() - 1].answer, states[states.len() - 1]);
    let is_last = last == Some(end.respond(Call::Read, None).0);
    is_last.then_some(()).ok_or_else(|| format!("it ends with {end}; {last:?} was read"))
}
