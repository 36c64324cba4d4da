//! Histories whose judgement is known, and small random ones that are judged by trying every order.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use super::feed::compare;
use super::linearizability::judge;
use super::operation::{Answer, Call, Operation, State};

const LIMIT: Duration = Duration::from_mins(1);
const INITIAL: State = State { version: 1, members: Some([1, 0]) };

/// Beginning and end, call, condition, status, and the version in the answer, which its member `a` equals.
/// Status 0 is no answer.
type Line = (u64, u64, Call, Option<u32>, u16, u32);

const fn put(value: u32) -> Call {
    Call::Replace([value, 0])
}

/// A read of a version.
const fn read(start: u64, end: u64, version: u32) -> Line {
    (start, end, Call::Read, None, 200, version)
}

fn history(lines: &[Line]) -> Vec<Operation> {
    let operation = |&(start, end, call, condition, status, version): &Line| {
        let version = Some(version).filter(|version| *version != 0);
        let members = version.filter(|_| status < 300).map(|version| [version, 0]);
        let answer = Some(Answer { status, version, members }).filter(|_| status != 0);
        let end = if status == 0 { Duration::MAX } else { Duration::from_secs(end) };
        let (id, start) = (format!("at-{start}"), Duration::from_secs(start));
        Operation { id, call, condition, start, end, answer }
    };
    let mut history: Vec<_> = lines.iter().map(operation).collect();
    history.sort_by_key(|operation| operation.start);
    history
}

const PUT: Line = (0, 1, put(2), Some(1), 200, 2);
const UNKNOWN: Line = (0, 0, put(2), Some(1), 0, 0);
const DELETE: Line = (0, 1, Call::Delete, None, 204, 0);
const ABSENT: Line = (2, 3, Call::Read, None, 404, 0);

#[test]
fn linearizable_histories_are_accepted() {
    for lines in [
        &[read(0, 1, 1), (2, 3, put(2), Some(1), 200, 2), (4, 5, Call::Read, Some(2), 304, 2)][..],
        // A read during a write finds either state.
        &[(0, 9, put(2), None, 200, 2), read(1, 2, 1), read(3, 4, 2)],
        &[(0, 9, put(2), Some(1), 200, 2), (1, 8, put(3), Some(1), 412, 2)],
        // An unknown write is done much later, or never.
        &[UNKNOWN, read(5, 6, 1), read(7, 8, 2)],
        &[UNKNOWN, read(5, 6, 1), (7, 8, put(2), None, 200, 2)],
        &[DELETE, ABSENT, (3, 9, Call::Restore(1, [3, 0]), None, 201, 3), read(10, 11, 3)],
        &[DELETE, (2, 3, Call::Restore(1, [1, 0]), Some(1), 412, 0)],
        &[(0, 1, Call::Delete, Some(9), 412, 1), (2, 3, Call::Patch(0, 1), Some(1), 200, 1)],
    ] {
        judge(INITIAL, &history(lines), LIMIT).unwrap_or_else(|refusal| panic!("{refusal}"));
    }
}

#[test]
fn impossible_histories_are_refused_with_the_operations_around_the_error() {
    let other = (5, 6, put(4), None, 0, 0);
    for (lines, expected) in [
        // A stale read.
        (
            &[PUT, read(2, 3, 1)][..],
            "version 2 {\"a\":2} gives 200 version 2 {\"a\":2}:\n   2.0000",
        ),
        (&[PUT, (2, 3, Call::Read, Some(1), 304, 1)], "GET  if 1 → 304 version 1"),
        // A lost update: two writers under one condition, and an acknowledged write that is gone.
        (&[PUT, PUT], "version 2 {\"a\":2} gives 412 version 2"),
        (&[PUT, other, read(7, 8, 1)], "PUT {\"a\":4} → unknown"),
        // A write that was done twice.
        (&[PUT, read(2, 3, 3)], "GET  → 200 version 3 {\"a\":3}"),
        // An item that is deleted, and there again.
        (&[DELETE, ABSENT, read(4, 5, 1)], "version 2 deleted gives 404"),
        (&[DELETE, (2, 3, Call::Delete, None, 204, 0)], "version 2 deleted gives 404"),
        // A refused write that took effect, and one that did before it was sent.
        (
            &[(0, 1, put(2), Some(7), 412, 1), read(2, 3, 2)],
            "version 1 {\"a\":1} gives 200 version 1",
        ),
        (&[read(0, 1, 2), (2, 0, put(2), None, 0, 0)], "version 1 {\"a\":1} gives 200 version 1"),
    ] {
        let refusal = judge(INITIAL, &history(lines), LIMIT).expect_err(expected);
        assert!(refusal.contains(expected), "`{expected}` in:\n{refusal}");
    }
    // Other reads and refusals are left out.
    let lines = [read(0, 1, 1), (0, 2, put(8), Some(8), 412, 1), (3, 4, put(2), Some(1), 200, 2)];
    let lines =
        [&lines[..], &[(5, 6, put(3), None, 200, 3), read(7, 8, 1), read(9, 10, 1)]].concat();
    let refusal = judge(INITIAL, &history(&lines), LIMIT).expect_err("a stale read");
    assert!(refusal.contains("at-3") && refusal.contains("at-5") && refusal.contains("at-7"));
    assert_eq!(refusal.matches('→').count(), 3, "{refusal}");
}

#[test]
fn a_search_without_an_end_in_time_is_refused() {
    let refusal = judge(INITIAL, &history(&[PUT]), Duration::ZERO);
    assert!(refusal.is_err_and(|refusal| refusal.contains("exceeds")));
}

#[test]
fn a_history_is_cut_when_no_operation_is_in_progress_or_open() {
    let over = [(2, 0, put(9), Some(1), 0, 0), (3, 4, put(2), Some(1), 200, 2)];
    let open = [read(5, 6, 2), (7, 0, put(9), None, 0, 0), read(8, 9, 2), read(10, 11, 2)];
    let lines = [&[read(0, 1, 1)], &over[..], &open].concat();
    let effort = judge(INITIAL, &history(&lines), LIMIT).expect("an order");
    assert_eq!((effort.parts, effort.largest), (4, 3));
}

#[test]
fn a_feed_has_each_write_that_took_effect_once_in_an_order_that_explains_it() {
    let last = read(20, 21, 3);
    let lines = [PUT, (2, 3, put(3), None, 200, 3), (4, 0, put(9), None, 0, 0), last];
    let change = |id: &str, version: u32, kind: &str| json!({ "request_id": id, "version": version, "kind": kind });
    let [created, first, second] =
        [change("", 1, "created"), change("at-0", 2, "replaced"), change("at-2", 3, "replaced")];
    let unknown = change("at-4", 4, "replaced");
    let [skipped, patched] = [change("at-2", 4, "replaced"), change("at-2", 3, "patched")];
    let right = [created, first, second];
    let compare = |changes: &[&Value]| {
        let changes: Vec<_> = [&right[0]].into_iter().chain(changes.to_vec()).cloned().collect();
        compare(&changes, &history(&lines), |version| [version, 0])
    };
    let [_, first, second] = &right;
    assert_eq!(compare(&[first, second]), Ok(()));
    for (changes, error) in [
        (&[first][..], "there is no change of"),
        (&[second, first], "it has another answer"),
        (&[first, second, second], "a second change"),
        (&[first, &skipped], "another version"),
        (&[first, &patched], "another kind"),
        (&[first, second, &unknown], "other members"),
        (&[], "there is no change of"),
    ] {
        let found = compare(changes).expect_err(error);
        assert!(found.contains(error), "`{error}` in {found}");
    }
}

#[test]
fn small_histories_are_judged_as_by_trying_every_order() {
    let mut random = Rng::with_seed(28);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let lines: Vec<_> = (0..random.u64(2..6)).map(|_| random_line(&mut random)).collect();
        let history = history(&lines);
        let has_order = has_order(INITIAL, &history);
        let judged = judge(INITIAL, &history, LIMIT);
        assert_eq!(judged.is_ok(), has_order, "{history:#?}\n{judged:?}");
        accepted += usize::from(has_order);
    }
    assert!((1_000..19_000).contains(&accepted), "{accepted} are linearizable");
}

/// A call and an answer that may belong together, in a few versions.
fn random_line(random: &mut Rng) -> Line {
    let (start, version) = (random.u64(..12), random.u32(1..4));
    let condition = random.bool().then(|| random.u32(1..4));
    let (call, status, version) = match random.u8(..11) {
        0..4 => (Call::Read, if condition == Some(version) { 304 } else { 200 }, version),
        4..6 => (put(version), 200, version),
        6 => (Call::Patch(0, version), 200, version),
        7 => (put(random.u32(1..4)), 412, version),
        8 => (Call::Delete, 204, 0),
        9 => (Call::Read, 404, 0),
        _ => (Call::Restore(1, [version, 0]), 201, version),
    };
    let is_open = call != Call::Read && random.u8(..4) == 0;
    (start, start + random.u64(1..8), call, condition, if is_open { 0 } else { status }, version)
}

fn has_order(state: State, rest: &[Operation]) -> bool {
    let horizon = rest.iter().map(|operation| operation.end).min().unwrap_or(Duration::MAX);
    horizon == Duration::MAX
        || rest.iter().enumerate().any(|(at, operation)| {
            let (answer, next) = state.respond(operation.call, operation.condition);
            let is_possible = operation.answer.is_none_or(|given| given == answer);
            let without = [&rest[..at], &rest[at + 1..]].concat();
            operation.start <= horizon && is_possible && has_order(next, &without)
        })
}
