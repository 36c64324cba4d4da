//! Clients read and write a few items through three instances on one database, while instances are
//! killed, stopped and cut off from it. The recorded histories are linearizable, item by item, and the
//! change feed has exactly the writes that took effect.

use std::sync::atomic::AtomicBool;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fastrand::Rng;
use tests::{End, number};

use self::clients::{Client, INITIAL, Subject, World, answer_of};
use self::feed::{Feed, compare};
use self::instances::{Instances, WAYS};
use self::linearizability::judge;
use self::operation::{Call, Operation};

mod clients;
mod examples;
mod feed;
mod instances;
mod linearizability;
mod operation;

const ITEMS: usize = 8;
const CLIENTS: usize = 6;

/// Seconds of a round, unless `TEST_HISTORY_SECONDS` says otherwise.
const SECONDS: u64 = 30;

/// The time limit of a search, which usually takes milliseconds.
const LIMIT: Duration = Duration::from_mins(2);

/// One round, unless `TEST_HISTORY_ROUNDS` says otherwise. `TEST_SEED` determines the operations and
/// disturbances of the first.
#[test]
fn recorded_histories_are_linearizable_and_equal_the_feed() {
    let first = number("TEST_SEED", fastrand::u64(..));
    for round in 0..number("TEST_HISTORY_ROUNDS", 1) {
        let seed = first.wrapping_add(round);
        println!("TEST_SEED={seed}");
        let errors = errors_of_a_round(&mut Rng::with_seed(seed));
        assert!(errors.is_empty(), "with TEST_SEED={seed}:\n{}", errors.join("\n"));
    }
}

fn errors_of_a_round(random: &mut Rng) -> Vec<String> {
    let (instances, begun, is_over) = (Instances::start(), Instant::now(), AtomicBool::new(false));
    let world = World { instances, begun, is_over };
    let subjects: Vec<_> = (0..ITEMS).map(|_| Subject::create(&world)).collect();
    let (mut histories, followed) = record(&world, &subjects, random);
    let service = world.instances.replace();
    for (subject, history) in subjects.iter().zip(&mut histories) {
        history.sort_by_key(|operation| operation.start);
        let answer = Some(subject.answer(&service.get(&subject.path).send()));
        let (id, call, condition) = ("last".to_owned(), Call::Read, None);
        let (start, end) = (world.begun.elapsed(), world.begun.elapsed());
        history.push(Operation { id, call, condition, start, end, answer });
    }
    let feed = Feed::new().complete(&service);
    let followed = followed.complete(&service).changes;
    let are_equal = followed == feed.changes;
    let mut errors = Vec::new();
    if !are_equal {
        let at = feed.changes.iter().zip(&followed).position(|(one, other)| one != other);
        errors.push(format!("the feed that was followed differs from position {at:?}"));
    }
    for (number, (subject, history)) in subjects.iter().zip(&histories).enumerate() {
        let begun = Instant::now();
        let judged = judge(INITIAL, history, LIMIT);
        let unknown = history.iter().filter(|operation| operation.answer.is_none()).count();
        let (length, time) = (history.len(), begun.elapsed());
        let effort = judged.as_ref().ok();
        println!("item {number}: {length} operations, {unknown} unknown, {effort:?} in {time:?}");
        let compared = compare(&feed.of(subject), history, |version| {
            let shown = service.read(&format!("{}/versions/{version}", subject.path)).value();
            answer_of(200, &shown).members.expect("members")
        });
        let wrong = [judged.err(), compared.err()].into_iter().flatten();
        errors.extend(wrong.map(|error| format!("item {number}: {error}")));
    }
    println!("{} changes in {:?}", feed.changes.len(), begun.elapsed());
    errors
}

/// Runs all clients during disturbances; returns the history of each item, and the feed that was
/// followed meanwhile.
fn record(world: &World, subjects: &[Subject], random: &mut Rng) -> (Vec<Vec<Operation>>, Feed) {
    let end = Instant::now() + Duration::from_secs(number("TEST_HISTORY_SECONDS", SECONDS));
    scope(|scope| {
        // The clients also end after a panic.
        let is_over = End(&world.is_over);
        let follower = random.fork();
        let feed = scope.spawn(move || Feed::new().follow(world, follower));
        let mut clients = Vec::new();
        for subject in subjects.iter().flat_map(|subject| [subject; CLIENTS]) {
            let random = random.fork();
            let number = u32::try_from(clients.len()).expect("a few clients") + 1;
            let (at, is_new, calls, record) = (number as usize % 3, true, 0, Vec::new());
            let client = Client { world, subject, number, random, at, is_new, calls, record };
            clients.push(scope.spawn(move || client.run()));
        }
        let mut ways: Vec<_> = (0..WAYS).collect();
        random.shuffle(&mut ways);
        for way in ways.into_iter().cycle().take_while(|_| Instant::now() < end) {
            world.instances.disturb(way, random);
            sleep(Duration::from_millis(random.u64(200..1_500)));
        }
        drop(is_over);
        let records = clients.into_iter().map(|client| client.join().expect("no panic"));
        let records: Vec<_> = records.collect();
        let histories = records.chunks(CLIENTS).map(<[_]>::concat).collect();
        (histories, feed.join().expect("no panic"))
    })
}
