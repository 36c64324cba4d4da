//! Keys of the service over time: a key is refused a moment after it ended.

use tests::event_stream::EventStream;
use tests::{Service, Store};

use crate::world::{Callers, PATIENCE, soon};

#[test]
fn a_key_that_is_removed_or_revoked_is_refused_by_every_instance_and_its_streams_end() {
    let names = ["ana", "ben", "carla"];
    let callers = Callers::new(&names.map(|name| (name, "")));
    let first = callers.serve(Store::Postgres, &[]);
    let own = callers.arguments();
    let second = first.start_another_with(&own.each_ref().map(String::as_str));
    let both = [&first, &second];
    let statuses = |name: &str| {
        let get = |service: &Service| callers.sign(name, service.get("/v1/proposals")).send();
        both.map(|service| get(service).status)
    };
    for name in names {
        assert_eq!(statuses(name), [200; 2], "{name}");
    }
    let [ana, ben, mut carla] = names.map(|name| {
        let key = format!("Authorization: Bearer {}\r\n", callers.key(name));
        EventStream::open(first.address(), "", &key)
    });
    let revoked = "revoked: [{subject: 'key:ben', before: 2026-01-01T00:00:00Z}]\n";
    callers.write(|name| name != "ana", revoked);
    for name in ["ana", "ben"] {
        soon("a refusal", || statuses(name) == [401; 2]);
    }
    ana.end_within(PATIENCE);
    ben.end_within(PATIENCE);
    assert_eq!(statuses("carla"), [200; 2]);
    callers.sign("carla", second.post("/v1/files").json("{}")).send().expect(201);
    assert_eq!(carla.event().data["data"]["caller"], "key:carla", "the other stream continues");
    // A file with errors changes nothing, and the log names the error.
    callers.write(|_| true, "revoked: 7\n");
    soon("a message", || both.iter().all(|it| it.log().contains("are not reloaded")));
    assert_eq!((statuses("ana"), statuses("carla")), ([401; 2], [200; 2]));
}

#[test]
fn no_part_of_a_token_is_logged_or_repeated_and_one_above_8_kib_is_400() {
    let callers = Callers::new(&[("ana", "")]);
    let service = callers.serve(Store::Sqlite, &["--log", "trace"]);
    let send = |token: &str| service.get("/v1/proposals").header("authorization", token).send();
    send(&format!("Bearer {}", "a".repeat(8192))).expect(401);
    let answer = send(&format!("Bearer {}", "a".repeat(8193))).expect(400);
    let detail = answer.value()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("The token has 8193 bytes"), "{answer}");

    let key = callers.key("ana");
    let (stem, secret) = key.split_at("psk_ana_".len());
    let reversed: String = secret.chars().rev().collect();
    let jwt = "eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJub2JvZHkifQ.c2VjcmV0";
    let parts = [&secret[1..20], &reversed[1..20], "c2VjcmV0", "eyJpc3MiOiJub2JvZHkifQ"];
    for line in [
        format!("Bearer {key}"),
        format!("Bearer {stem}{reversed}"),
        format!("Bearer {jwt}"),
        format!("Bearer {key} {key}"),
        format!("Basic {secret}"),
        format!("bearer {}", &secret[1..]),
    ] {
        let answer = send(&line);
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
