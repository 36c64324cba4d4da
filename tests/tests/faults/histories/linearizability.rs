//! Linearizability of a history: Wing and Gong's search, with memoized pairs of a state and the
//! operations done.
//!
//! A history is linearizable if its operations have an order in which each answer follows from the
//! operations before it, and that keeps the order of operations that did not overlap. An operation
//! without an answer can be anywhere after its beginning, or missing.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::operation::{Call, Operation, State};

/// Writes before an error that are shown.
const SHOWN: usize = 8;

/// The effort of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Parts between quiet points, and the operations of the largest.
    pub parts: usize,
    pub largest: usize,
    /// Pairs of a state and the operations done.
    pub pairs: usize,
}

enum Failure {
    Late,
    /// The order that explains most answers: a state, then operations with the state after each.
    NoOrder(Vec<Step>),
}

#[derive(Clone, Copy)]
struct Step {
    /// `None` at the beginning.
    operation: Option<usize>,
    state: State,
    /// The step before, and the number of answers so far.
    before: usize,
    answers: usize,
}

/// Judges a history of one item, sorted by beginnings. The error describes operations without an order,
/// or a search that takes longer than `limit`.
pub fn judge(initial: State, history: &[Operation], limit: Duration) -> Result<Effort, String> {
    let deadline = Instant::now() + limit;
    let (mut begin, mut states, mut effort) = (0, HashSet::from([initial]), Effort::default());
    while begin < history.len() {
        let end = begin + first_quiet_point(&history[begin..]);
        let (part, mut seen) = (&history[begin..end], HashSet::new());
        let ends = search(part, &states, end == history.len(), deadline, &mut seen);
        effort.largest = effort.largest.max(part.len());
        effort.pairs += seen.len();
        effort.parts += 1;
        states = ends.map_err(|failure| match failure {
            Failure::Late => format!("a search over {} operations exceeds {limit:?}", part.len()),
            Failure::NoOrder(order) => describe(&history[..begin], part, &order),
        })?;
        begin = end;
    }
    Ok(effort)
}

/// The number of operations before the first moment when none is in progress or open. An operation
/// without an answer is not open any more when its condition cannot hold again, because an answer has
/// shown a later version.
fn first_quiet_point(history: &[Operation]) -> usize {
    let (mut busy, mut shown, mut open) = (Duration::ZERO, 0, None);
    for (at, operation) in history.iter().enumerate() {
        if at > 0 && busy < operation.start && open.is_none_or(|version| version < shown) {
            return at;
        }
        if let Some(answer) = operation.answer {
            busy = busy.max(operation.end);
            shown = shown.max(answer.version.unwrap_or(0));
        } else {
            open = open.max(Some(operation.condition.unwrap_or(u32::MAX)));
        }
    }
    history.len()
}

/// A state, and a bit for each operation that is done.
type Pair = (State, Vec<u64>);

/// The states that the operations can lead to, from any of `states`; one is enough at the end of a
/// history.
fn search(
    operations: &[Operation],
    states: &HashSet<State>,
    is_last: bool,
    deadline: Instant,
    seen: &mut HashSet<Pair>,
) -> Result<HashSet<State>, Failure> {
    let mut latest = vec![u32::MAX; operations.len() + 1];
    for (at, operation) in operations.iter().enumerate().rev() {
        latest[at] = latest[at + 1].min(operation.latest_before());
    }
    let begin = |state: &State| Step { operation: None, state: *state, before: 0, answers: 0 };
    let mut steps: Vec<_> = states.iter().map(begin).collect();
    let none = vec![0; operations.len().div_ceil(64)];
    let mut stack: Vec<_> = (0..steps.len()).map(|step| (step, none.clone())).collect();
    let mut ends = HashSet::new();
    while let Some((before, done)) = stack.pop() {
        if Instant::now() > deadline {
            return Err(Failure::Late);
        }
        let Step { state, answers, .. } = steps[before];
        let pair = (state, done);
        if !seen.insert(pair.clone()) {
            continue;
        }
        let Some(next) = next(operations, &latest, &pair) else {
            ends.insert(state);
            if is_last {
                break;
            }
            continue;
        };
        for (at, state) in next {
            let mut done = pair.1.clone();
            done[at / 64] |= 1 << (at % 64);
            stack.push((steps.len(), done));
            let answers = answers + usize::from(operations[at].answer.is_some());
            steps.push(Step { operation: Some(at), state, before, answers });
        }
    }
    if !ends.is_empty() {
        return Ok(ends);
    }
    let mut order = Vec::from_iter(steps.iter().rev().max_by_key(|step| step.answers).copied());
    while let Some(step) = order.last().filter(|step| step.operation.is_some()) {
        order.push(steps[step.before]);
    }
    order.reverse();
    Err(Failure::NoOrder(order))
}

/// The operations that can be next, the best last, with the state after each; `None` if every
/// operation with an answer is done. `latest` has the highest version before each operation or a later
/// one took effect.
fn next(
    operations: &[Operation],
    latest: &[u32],
    (state, done): &Pair,
) -> Option<Vec<(usize, State)>> {
    let is_undone = |at: &usize| done[at / 64] & (1 << (at % 64)) == 0;
    let (mut horizon, mut latest_version) = (Duration::MAX, u32::MAX);
    let (mut open, mut answered) = (Vec::new(), Vec::new());
    for at in (0..operations.len()).filter(is_undone) {
        let operation = &operations[at];
        if operation.start > horizon {
            latest_version = latest_version.min(latest[at]);
            break;
        }
        horizon = horizon.min(operation.end);
        latest_version = latest_version.min(operation.latest_before());
        let (answer, next) = state.respond(operation.call, operation.condition);
        match operation.answer {
            Some(given) if given == answer => answered.push((at, next)),
            None if next != *state => open.push((at, next)),
            _ => {}
        }
    }
    if horizon == Duration::MAX {
        return None;
    }
    // What changes nothing can be first whenever it is possible.
    if let Some(at) = answered.iter().position(|(_, next)| next == state) {
        return Some(vec![answered.swap_remove(at)]);
    }
    // Versions never go back, so an operation without an answer must not exceed one that is shown later.
    // Of equal operations the first is as good as any.
    let mut different = HashSet::new();
    open.retain(|(at, next)| {
        let Operation { call, condition, .. } = operations[*at];
        next.version <= latest_version && different.insert((call, condition))
    });
    open.extend(answered.into_iter().rev());
    Some(open)
}

/// The last writes that are explained, the first operation that is not, and those that overlap it.
fn describe(earlier: &[Operation], part: &[Operation], order: &[Step]) -> String {
    let is_write = |operation: &&Operation| {
        let is_done = operation.answer.is_some_and(|answer| answer.status < 300);
        operation.call != Call::Read && is_done
    };
    let mut lines: Vec<_> = earlier.iter().filter(is_write).map(ToString::to_string).collect();
    lines.push(format!("    {}", order[0].state));
    let changes = order.windows(2).filter(|steps| steps[0].state != steps[1].state);
    for Step { operation, state, .. } in changes.map(|steps| steps[1]) {
        lines.extend(operation.map(|at| format!("{}\n    {state}", part[at])));
    }
    let lines = lines.split_off(lines.len().saturating_sub(SHOWN)).join("\n");
    let is_undone = |at: &usize| order.iter().all(|step| step.operation != Some(*at));
    let undone = || (0..part.len()).filter(is_undone).map(|at| &part[at]);
    let first = undone().min_by_key(|operation| operation.end).expect("an unexplained operation");
    let overlapping = undone().filter(|it| it.start <= first.end && it.id != first.id);
    let overlapping = overlapping.map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let last = order[order.len() - 1].state;
    let given = last.respond(first.call, first.condition).0;
    format!(
        "no order explains all answers:\n{lines}\n\
         not explained, because {last} gives {given}:\n{first}\nduring:\n{overlapping}"
    )
}
