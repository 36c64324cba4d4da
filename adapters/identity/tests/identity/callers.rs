//! Callers of tokens that are accepted, and how long they are.

use domain::{Operation, Operations};
use serde_json::json;

use crate::support::{Issuer, NOW, Signer, World, jwks, known_issuer, until};

const MAPPING: &str = r#"  claims:
    id: claims.sub
    name: "has(claims.name) ? claims.name : null"
    roles: "has(claims.groups) ? claims.groups.filter(group, group.startsWith('p-')) : []"
    attributes: {agency: "has(claims.org) ? claims.org : 'none'", level: 1 + 2}
  require:
  - check: "!has(claims.blocked)"
    message: you are blocked
  scopes:
    proposals.read: [read, history]
    proposals.write: [create, patch]
"#;

#[tokio::test]
async fn each_algorithm_is_verified() {
    for algorithm in ["RS256", "PS256", "ES256", "ES384", "EdDSA"] {
        let signer = Signer::new(algorithm, "k");
        let issuer = Issuer::start(&[&signer]).await;
        let (world, token) = (issuer.world(""), issuer.token(&signer));
        let caller = world.caller(&token).await;
        assert_eq!(&*caller.id, "agency:ana", "{algorithm}");
        assert!(std::sync::Arc::ptr_eq(&caller, &world.caller(&token).await), "{algorithm}");
        let other = Signer::new(algorithm, "k");
        if !algorithm.starts_with(['R', 'P']) {
            let refusal = world.refusal(&issuer.token(&other)).await;
            assert_eq!(refusal, "the token's signature is wrong");
        }
        assert_eq!(issuer.key_fetches(), 1);
    }
}

#[tokio::test]
async fn a_caller_is_made_of_claims() {
    let (signer, issuer, world) = known_issuer(MAPPING).await;
    let claims = json!({
        "groups": ["p-reviewer", "other"], "name": "Ana \"A\"", "act": {"sub": "robot"},
        "scope": "proposals.read openid",
    });
    let caller = world.caller(&issuer.token_with(&signer, &claims)).await;
    assert_eq!((&*caller.id, caller.name.as_deref()), ("agency:ana", Some("Ana \"A\"")));
    assert_eq!(
        (caller.acting.as_deref(), caller.client.as_deref()),
        (Some("agency:robot"), Some("portal"))
    );
    assert_eq!(
        caller.described.encoded(),
        r#"{"id":"agency:ana","roles":["p-reviewer"],"acting":"agency:robot","client":"portal","agency":"none","level":3}"#
    );
    let granted: Operations = [Operation::Read, Operation::History].into_iter().collect();
    assert_eq!(caller.granted, granted);
    assert_eq!(caller.expires.map(jiff::Timestamp::as_second), Some(NOW + 600 + 30));
    let openid = json!({"scope": "openid"});
    assert!(world.caller(&issuer.token_with(&signer, &openid)).await.granted.is_empty());
    let reason = "the service cannot compute `roles` from the token's claims";
    for (claims, reason) in [
        (json!({"blocked": true}), "you are blocked"),
        (json!({"groups": ["p-a", 5]}), reason),
        (json!({"groups": "p-a"}), reason),
    ] {
        assert_eq!(world.refusal(&issuer.token_with(&signer, &claims)).await, reason, "{claims}");
    }
}

#[tokio::test]
async fn issuers_and_scopes_are_published() {
    let lines = format!("  swagger_client: explorer\n{MAPPING}");
    let (_, issuer, world) = known_issuer(&lines).await;
    let published = application::Identity::published(&*world.identity);
    let [announced] = &published.issuers[..] else { panic!("{published:?}") };
    let configuration = format!("{}/.well-known/openid-configuration", issuer.url);
    assert_eq!(
        (&*announced.url, announced.configuration.as_deref()),
        (&*issuer.url, Some(&*configuration))
    );
    assert_eq!(announced.client.as_deref(), Some("explorer"));
    let scopes: Vec<_> = published.scopes.iter().map(|(scope, _)| &**scope).collect();
    assert_eq!(scopes, ["proposals.read", "proposals.write"]);
}

#[tokio::test]
async fn a_token_that_expires_is_refused_although_it_was_accepted() {
    let (signer, issuer, world) = known_issuer("").await;
    let token = issuer.token(&signer);
    world.caller(&token).await;
    world.advance(600 + 29);
    world.caller(&token).await;
    world.advance(1);
    assert_eq!(world.refusal(&token).await, "the token expired 30 seconds ago");
    // The refusal is kept for seconds, and what follows says the time of then.
    world.advance(3_600);
    assert_eq!(world.refusal(&token).await, "the token expired 60 minutes ago");
}

#[tokio::test]
async fn a_token_of_a_key_that_is_removed_is_refused() {
    let (old, new) = (Signer::new("ES256", "old"), Signer::new("ES256", "new"));
    let issuer = Issuer::start(&[&old]).await;
    let world = issuer.world("");
    let keeping = tokio::spawn(world.identity.clone().keep_keys());
    let token = issuer.token(&old);
    until("the first fetch", || issuer.key_fetches() == 1).await;
    world.caller(&token).await;
    issuer.set_keys(jwks(&[&new]));
    world.caller(&token).await;
    world.advance(301);
    until("a fetch", || issuer.key_fetches() == 2).await;
    let expected = "the token is signed with a key that its issuer does not have";
    world.until_refusal(&token, expected).await;
    assert_eq!(&*world.caller(&issuer.token(&new)).await.id, "agency:ana");
    keeping.abort();
}

#[tokio::test]
async fn a_revocation_is_in_force_when_the_file_is_read_again() {
    let (signer, issuer, world) = known_issuer("").await;
    let (file, token) = (issuer.file(""), issuer.token(&signer));
    world.caller(&token).await;
    // The token was issued at 2027-01-15T08:00:00Z.
    for (revoked, is_refused) in [
        ("{subject: agency:ana, before: 2027-01-15T08:00:01Z}", true),
        ("{subject: agency:ana, before: 2027-01-15T08:00:00Z}", false),
        ("{subject: agency:bob, before: 2027-01-15T08:00:01Z}", false),
        ("{issuer: agency, before: 2027-01-15T08:00:01Z}", true),
        ("{issuer: agency, before: 2027-01-15T07:00:00Z}", false),
    ] {
        world.rewrite(&format!("{file}revoked: [{revoked}]\n"));
        assert_eq!(world.identity.files.reload(), Ok(true), "{revoked}");
        let refusal = world.refusal(&token).await;
        let expected = if is_refused { "the token was revoked" } else { "accepted as agency:ana" };
        assert_eq!(refusal, expected, "{revoked}");
    }
    world.rewrite("issuers: [");
    assert!(world.identity.files.changed().is_some() && world.identity.files.reload().is_err());
    assert_eq!(world.refusal(&token).await, "accepted as agency:ana");
    world.rewrite(&file.replace("agency", "other"));
    assert_eq!(world.identity.files.reload(), Ok(true));
    assert_eq!(world.refusal(&token).await, "accepted as other:ana");
    assert_eq!(issuer.key_fetches(), 1, "the keys of an issuer outlast the file");
    world.rewrite("keys: []");
    assert_eq!(world.identity.files.reload(), Ok(true));
    assert_eq!(world.refusal(&token).await, "the token's issuer is not one of those known here");
}

#[tokio::test]
async fn a_refusal_costs_no_second_verification_and_does_not_last() {
    let (signer, other) = (Signer::new("ES256", "k"), Signer::new("ES256", "k"));
    let issuer = Issuer::start(&[&other]).await;
    let (world, token) = (issuer.world(""), issuer.token(&signer));
    for _ in 0..2 {
        assert_eq!(world.refusal(&token).await, "the token's signature is wrong");
    }
    issuer.set_keys(jwks(&[&signer]));
    world.advance(31);
    assert!(
        world.refusal(&issuer.token(&Signer::new("ES256", "x"))).await.contains("does not have")
    );
    assert_eq!(&*world.caller(&token).await.id, "agency:ana");
}

/// Issuers that do not follow RFC 9068 or have no configuration, as many that are in use.
#[tokio::test]
async fn an_issuer_of_another_kind_is_described_in_the_file() {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let lines = format!(
        "  jwks_uri: {}/keys\n  token_type: jwt\n  audiences: [api, other]\n  scopes: {{w: [create]}}\n",
        issuer.url
    );
    let world = issuer.world(&lines);
    let exp: serde_json::Value = format!("{}.5", NOW + 600).parse().expect("sound test data");
    let payload = json!({
        "iss": issuer.url, "sub": "ana", "aud": ["account", "api"], "exp": exp, "iat": NOW,
        "azp": "portal", "scp": ["w", "x"],
    });
    for token_type in [Some("JWT"), Some("application/JWT"), Some("at+jwt"), None] {
        let of_type = |of| json!({"alg": "ES256", "kid": "k", "typ": of});
        let header = token_type.map_or(json!({"alg": "ES256", "kid": "k"}), of_type).to_string();
        let caller = world.caller(&signer.token(&header, &payload.to_string())).await;
        assert_eq!(caller.client.as_deref(), Some("portal"), "{token_type:?}");
        assert_eq!(caller.granted, [Operation::Create].into_iter().collect());
        assert_eq!(
            caller.expires.map(jiff::Timestamp::as_millisecond),
            Some((NOW + 630) * 1_000 + 500)
        );
    }
    let header = json!({"alg": "ES256", "kid": "k", "typ": "dpop+jwt"}).to_string();
    let refusal = world.refusal(&signer.token(&header, &payload.to_string())).await;
    assert_eq!(refusal, "the token is not an access token: its `typ` is not `JWT`");
    assert_eq!((issuer.key_fetches(), issuer.configuration_fetches()), (1, 0));
    assert_eq!(application::Identity::published(&*world.identity).issuers[0].configuration, None);
}

#[tokio::test]
async fn who_acts_can_be_revoked_and_is_named_as_callers_are() {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let token = issuer.token_with(&signer, &json!({"act": {"sub": "robot"}, "oid": "1f0c"}));
    let revoked = "revoked: [{subject: agency:robot, before: 2027-01-15T08:00:01Z}]\n";
    for (file, expected) in [
        (issuer.file(""), "accepted as agency:ana"),
        (issuer.file("") + revoked, "the token was revoked"),
        (issuer.file("  claims: {id: claims.oid}\n"), "is not the id of a caller"),
    ] {
        let refusal = World::new(&file).refusal(&token).await;
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[tokio::test]
async fn a_caller_takes_no_more_memory_than_the_longest_token() {
    let lines =
        "  claims: {attributes: {one: claims.long, two: claims.long, three: claims.long}}\n";
    let (signer, issuer, world) = known_issuer(lines).await;
    let token = |length| issuer.token_with(&signer, &json!({"long": "a".repeat(length)}));
    assert_eq!(world.refusal(&token(2_000)).await, "accepted as agency:ana");
    assert!(world.refusal(&token(3_000)).await.contains("cannot compute `attributes`"));
}
