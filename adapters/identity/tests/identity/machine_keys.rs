//! Keys of the service, from the command that makes them to their end.

use identity_adapter::new_key;

use crate::support::World;

#[tokio::test]
async fn a_key_is_accepted_until_it_expires() {
    let roles = ["exporter".to_owned()];
    // The tests begin on 2027-01-15 at 08:00.
    let last = jiff::civil::date(2027, 1, 16);
    let key = new_key("nightly-export", &roles, Some(last)).expect("sound test data");
    let world = World::new(&format!("keys:\n{}\n", key.line));
    let caller = world.caller(&key.printed).await;
    assert_eq!(&*caller.id, "key:nightly-export");
    assert!(caller.has_role("exporter") && caller.client.is_none());
    assert_eq!(caller.expires.map(|at| at.to_string()).as_deref(), Some("2027-01-17T00:00:00Z"));
    world.advance(40 * 3_600 - 1);
    world.caller(&key.printed).await;
    world.advance(1);
    assert_eq!(world.refusal(&key.printed).await, "the key has expired; create a new one");
}

#[tokio::test]
async fn a_typing_error_is_distinguished_from_a_wrong_key() {
    let key = new_key("a", &[], None).expect("sound test data");
    let other = new_key("a", &[], None).expect("sound test data");
    let unknown = new_key("b", &[], None).expect("sound test data");
    let world = World::new(&format!("keys:\n{}\n", key.line));
    assert_eq!(&*world.caller(&key.printed).await.id, "key:a");
    for (sent, reason) in [
        (other.printed.clone(), "the key is unknown"),
        (unknown.printed, "the key is unknown"),
        (format!("{}x", key.printed), "the key is mistyped"),
        (key.printed.replace("psk_", "PSK_"), "a JSON Web Token of three parts"),
    ] {
        let refusal = world.refusal(&sent).await;
        assert!(refusal.contains(reason), "{sent}: {refusal}");
        let secret = key.printed.splitn(3, '_').nth(2).expect("sound test data");
        assert!(!refusal.contains(secret));
    }
}

#[tokio::test]
async fn a_key_is_refused_from_the_time_of_its_revocation() {
    let key = new_key("a", &[], None).expect("sound test data");
    let other = new_key("b", &[], None).expect("sound test data");
    let file =
        |revoked: &str| format!("keys:\n{}\n{}\nrevoked: [{revoked}]\n", key.line, other.line);
    // It is 2027-01-15T08:00:00Z.
    let (now, later) = ("2027-01-15T08:00:00Z", "2028-01-01T00:00:00Z");
    for (revoked, is_refused) in [
        (&[("a", "2027-01-15T00:00:00Z")][..], true),
        (&[("a", now)], true),
        (&[("a", "2027-01-15T08:00:01Z")], false),
        (&[("b", now)], false),
        (&[("a", now), ("a", later)], true),
        (&[("a", later), ("a", now)], true),
    ] {
        let element = |(name, before)| format!("{{subject: 'key:{name}', before: {before}}}");
        let revoked = revoked.iter().copied().map(element).collect::<Vec<_>>().join(", ");
        let world = World::new(&file(&revoked));
        let refusal = world.refusal(&key.printed).await;
        let expected = if is_refused { "the key was revoked" } else { "accepted as key:a" };
        assert_eq!(refusal, expected, "{revoked}");
    }
    let world = World::new(&file("{subject: 'key:a', before: 2027-01-15T09:00:00Z}"));
    let expires = world.caller(&key.printed).await.expires.map(|at| at.to_string());
    assert_eq!(expires.as_deref(), Some("2027-01-15T09:00:00Z"), "streams end then");
    world.advance(3_600);
    assert_eq!(world.refusal(&key.printed).await, "the key was revoked");
    world.caller(&other.printed).await;
    world.rewrite("keys: []\n");
    assert_eq!(world.identity.files.reload(), Ok(true));
    assert_eq!(world.refusal(&other.printed).await, "the key is unknown");
}
