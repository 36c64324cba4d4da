//! Keys of the service over time: what was accepted is not accepted a moment after it ended.

use std::time::{Duration, Instant};

use tests::event_stream::EventStream;
use tests::{Service, Store};

use crate::world::{Callers, database};

/// The time within which a change of the identity file is in force.
const IN_FORCE: Duration = Duration::from_secs(5);

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        // Ten times the bound: machines are slow at times.
        assert!(began.elapsed() < 10 * IN_FORCE, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn status(callers: &Callers, service: &Service, name: &str) -> u16 {
    callers.sign(name, service.get("/v1/proposals")).send().status
}

#[test]
fn a_key_that_is_removed_or_revoked_is_refused_by_every_instance() {
    let callers = Callers::new(&[("ana", ""), ("ben", ""), ("carla", "")]);
    let store = database(Store::Postgres);
    let (first, second) = (callers.serve_on(&store, &[]), callers.serve_on(&store, &[]));
    let both = [&first, &second];
    for name in ["ana", "ben", "carla"] {
        assert!(both.iter().all(|service| status(&callers, service, name) == 200), "{name}");
    }
    let changed = |name: &str, line: &str| match name {
        "ana" => None,
        _ => Some(line.to_owned()),
    };
    let revoked = "revoked: [{subject: 'key:ben', before: 2026-01-01T00:00:00Z}]\n";
    callers.write(changed, revoked);
    for name in ["ana", "ben"] {
        wait_for("a refusal", || both.iter().all(|service| status(&callers, service, name) == 401));
    }
    assert!(both.iter().all(|service| status(&callers, service, "carla") == 200));
    // A file with errors changes nothing, and says what is wrong with it.
    callers.write(|_, line| Some(line.to_owned()), "revoked: 7\n");
    wait_for("a message", || both.iter().all(|it| it.log().contains("stay as they were")));
    assert!(both.iter().all(|service| status(&callers, service, "ana") == 401));
    assert!(both.iter().all(|service| status(&callers, service, "carla") == 200));
}

#[test]
fn a_stream_ends_with_its_key() {
    let callers = Callers::new(&[("ana", ""), ("ben", "")]);
    let service = callers.serve(Store::Sqlite, &[]);
    let listen = |name: &str| {
        let key = format!("Authorization: Bearer {}\r\n", callers.key(name));
        EventStream::open(service.address(), "", &key)
    };
    let (ana, mut ben) = (listen("ana"), listen("ben"));
    callers.write(|name, line| (name != "ana").then(|| line.to_owned()), "");
    ana.end_within(10 * IN_FORCE);
    callers.sign("ben", service.post("/v1/files").json("{}")).send().expect(201);
    assert_eq!(ben.event().data["data"]["caller"], "key:ben", "the other stream goes on");
}

#[test]
fn a_token_above_8_kib_gets_a_message_that_says_so() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &[]);
    let get = |bytes: usize| {
        let token = format!("Bearer {}", "a".repeat(bytes));
        service.get("/v1/files").header("authorization", token).send()
    };
    get(8192).expect(401);
    let answer = get(8193).expect(400);
    let detail = answer.value()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("The token has 8193 bytes"), "{answer}");
}

#[test]
fn nothing_of_a_token_is_logged_or_told() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &["--log", "trace"]);
    let key = callers.key("ana");
    let (stem, secret) = key.split_at("psk_ana_".len());
    let reversed: String = secret.chars().rev().collect();
    let jwt = "eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJub2JvZHkifQ.c2VjcmV0";
    let wrong = format!("{stem}{reversed}");
    let parts = [&secret[1..20], &reversed[1..20], "c2VjcmV0", "eyJpc3MiOiJub2JvZHkifQ"];
    for line in [
        format!("Bearer {key}"),
        format!("Bearer {wrong}"),
        format!("Bearer {jwt}"),
        format!("Bearer {key} {key}"),
        format!("Basic {secret}"),
        format!("bearer {}", &secret[1..]),
    ] {
        let request = service.get("/v1/proposals").header("authorization", &line);
        let answer = request.send();
        for part in parts {
            assert!(!answer.text().contains(part), "{answer}");
            for (name, value) in &answer.headers {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                assert!(!value.contains(part), "{name}: {value}");
            }
        }
    }
    let log = service.log();
    for part in parts {
        assert!(!log.contains(part), "{part} is in the log");
    }
}
