//! Issuers that are slow, wrong, or gone.

use std::sync::Arc;
use std::time::Duration;

use application::Identity as _;
use serde_json::{Value, json};

use crate::support::{
    Answer, Issuer, Signer, World, configuration_of, encode, jwks, known_issuer, until, with,
};

const UNKNOWN: &str = "the token is signed with a key that its issuer does not have";

#[tokio::test]
async fn an_issuer_that_was_never_reached_makes_its_tokens_unavailable() {
    let signer = Signer::new("ES256", "k");
    let key = identity_adapter::new_key("a", &[], None).expect("sound test data");
    let key_line = format!("keys:\n{}\n", key.line);
    let slow = Duration::from_mins(1);
    let location = |url: &str| vec![("location", url.to_owned())];
    let text = |text: &str| Answer { body: text.into(), ..Answer::of(200) };
    let configurations = |url: &str| {
        let evil = "https://evil.example";
        let keys = |uri: Value| Answer::json(&json!({"issuer": url, "jwks_uri": uri}));
        [
            ("down", Answer::of(503)),
            ("redirecting", Answer { headers: location(url), ..Answer::of(302) }),
            ("no JSON", text("<html>")),
            ("another issuer", Answer::json(&json!({"issuer": evil, "jwks_uri": url}))),
            ("no issuer", Answer::json(&json!({"jwks_uri": url}))),
            ("issuer with a slash", Answer::json(&json!({"issuer": format!("{url}/")}))),
            ("no address of keys", Answer::json(&json!({"issuer": url}))),
            ("wrong types", keys(json!([1]))),
            ("keys without TLS", keys("http://192.0.2.1/".into())),
            ("keys in a file", keys("file:///etc/passwd".into())),
            ("duplicate issuer", text(&format!(r#"{{"issuer":"{url}","issuer":"{url}"}}"#))),
            ("slow", Answer { delay: slow, ..Answer::of(200) }),
            ("huge", text(&" ".repeat(300 << 10))),
        ]
    };
    let keys = |url: &str| {
        [
            ("keys gone", Answer::of(404)),
            ("keys redirecting", Answer { headers: location(url), ..Answer::of(301) }),
            ("keys of no type", Answer::json(&json!([]))),
            ("keys no list", Answer::json(&json!({"keys": {}}))),
            ("keys huge", text(&" ".repeat(300 << 10))),
            ("many keys", Answer::json(&json!({"keys": vec![signer.jwk(); 65]}))),
        ]
    };
    let assert_unavailable = async |name: &str, issuer: &Issuer| {
        let world = World::new(&format!("{}{key_line}", issuer.file("")));
        assert_eq!(world.refusal(&issuer.token(&signer)).await, "unavailable", "{name}");
        assert_eq!(&*world.caller(&key.printed).await.id, "key:a", "{name}");
    };
    let issuer = Issuer::start(&[&signer]).await;
    for (name, answer) in configurations(&issuer.url) {
        issuer.set_configuration(answer);
        assert_unavailable(name, &issuer).await;
    }
    let issuer = Issuer::start(&[&signer]).await;
    for (name, answer) in keys(&issuer.url) {
        issuer.set_keys(answer);
        assert_unavailable(name, &issuer).await;
    }
}

#[tokio::test]
async fn only_token_endpoints_that_are_safe_to_send_a_code_to_are_published() {
    let long = format!("https://id.example/{}", "a".repeat(2_000));
    let (signer, issuer, world) = known_issuer("  swagger_client: pages\n").await;
    assert!(world.identity.token_endpoints().is_empty(), "before it was discovered");
    for (endpoint, is_named) in [
        (json!("https://tokens.example/token"), true),
        (json!("http://tokens.example/token"), false),
        (json!("http://127.0.0.1:9/token"), true),
        (json!("javascript:alert(1)"), false),
        (json!("https://tokens.example; script-src *"), false),
        (json!("/token"), false),
        (json!(""), false),
        (json!(["https://tokens.example/token"]), false),
        (json!(null), false),
        (json!(long), false),
    ] {
        let named = json!({"token_endpoint": endpoint});
        issuer.set_configuration(Answer::json(&with(&configuration_of(&issuer.url), &named)));
        let fetches = issuer.key_fetches();
        world.advance(30);
        let payload = encode(issuer.payload().to_string());
        world.refusal(&of_unknown_key(&payload, 0)).await;
        until("the fetch", || issuer.key_fetches() > fetches).await;
        let expected: Vec<Box<str>> =
            endpoint.as_str().filter(|_| is_named).map(Into::into).into_iter().collect();
        assert_eq!(world.identity.token_endpoints(), expected, "{endpoint}");
    }
    let without_client = issuer.world("");
    without_client.caller(&issuer.token(&signer)).await;
    assert!(without_client.identity.token_endpoints().is_empty());
}

#[tokio::test]
async fn a_request_waits_a_second_for_a_slow_issuer_and_not_longer() {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    issuer.set_keys(Answer { delay: Duration::from_millis(300), ..jwks(&[&signer]) });
    let world = issuer.world("");
    world.caller(&issuer.token(&signer)).await;
    let slow = Issuer::start(&[&signer]).await;
    slow.set_keys(Answer { delay: Duration::from_secs(30), ..jwks(&[&signer]) });
    let world = slow.world("");
    let begin = std::time::Instant::now();
    assert_eq!(world.refusal(&slow.token(&signer)).await, "unavailable");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotated_keys_are_found_by_one_fetch_for_all_clients() {
    let (old, new) = (Signer::new("ES256", "old"), Signer::new("ES256", "new"));
    let issuer = Issuer::start(&[&old]).await;
    let world = Arc::new(issuer.world(""));
    world.caller(&issuer.token(&old)).await;
    assert_eq!((issuer.key_fetches(), issuer.configuration_fetches()), (1, 1));
    issuer.set_keys(Answer { delay: Duration::from_millis(100), ..jwks(&[&old, &new]) });
    world.advance(30);
    let clients: Vec<_> = (0..64)
        .map(|number| {
            let token = issuer.token_with(&new, &json!({"jti": format!("{number}")}));
            let world = world.clone();
            tokio::spawn(async move { world.refusal(&token).await })
        })
        .collect();
    for client in clients {
        assert_eq!(client.await.expect("sound test data"), "accepted as agency:ana");
    }
    assert_eq!((issuer.key_fetches(), issuer.configuration_fetches()), (2, 2));
}

/// A token that names an unknown key. Its signature is not verified.
fn of_unknown_key(payload: &str, number: usize) -> String {
    let header = format!(r#"{{"alg":"ES256","typ":"at+jwt","kid":"x{number}"}}"#);
    format!("{}.{payload}.AAAA", encode(header))
}

/// 100,000 made-up keys, by eight clients at once, in four spans of half a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_keys_cause_a_fetch_every_half_minute_and_evict_nothing() {
    const EACH: usize = 3_125;
    let (signer, issuer, world) = known_issuer("").await;
    let (world, token) = (Arc::new(world), issuer.token(&signer));
    world.caller(&token).await;
    let payload: Arc<str> = encode(issuer.payload().to_string()).into();
    let mut fresh = 0;
    for round in 0..4 {
        // The first fetch was less than half a minute ago, so that the first round causes none.
        world.advance(if round == 0 { 29 } else { 30 });
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let (world, payload) = (world.clone(), payload.clone());
                let first = (round * 8 + client) * EACH;
                tokio::spawn(async move {
                    for number in first..first + EACH {
                        let refusal = world.refusal(&of_unknown_key(&payload, number)).await;
                        assert_eq!(refusal, UNKNOWN);
                    }
                })
            })
            .collect();
        // Meanwhile an honest client comes with tokens that were never seen before.
        let before = fresh;
        while fresh == before || clients.iter().any(|client| !client.is_finished()) {
            let claims = json!({"jti": format!("{fresh}")});
            world.caller(&issuer.token_with(&signer, &claims)).await;
            world.caller(&token).await;
            fresh += 1;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for client in clients {
            client.await.expect("a client");
        }
        assert_eq!(issuer.key_fetches(), 1 + round, "one fetch in half a minute");
        let [verified, refused] = world.remembered();
        assert!(refused <= 4_096, "{refused}");
        assert_eq!(verified, 1 + fresh, "nothing was pushed out");
    }
}

#[tokio::test]
async fn an_outage_leaves_the_last_keys_for_a_day() {
    let (signer, issuer, world) = known_issuer("  longest_lifetime: 96h\n").await;
    let token = issuer.token_with(&signer, &json!({"exp": crate::support::NOW + 3 * 86_400}));
    world.caller(&token).await;
    issuer.set_configuration(Answer::of(500));
    world.advance(86_399);
    let keeping = tokio::spawn(world.identity.clone().keep_keys());
    until("a fetch", || issuer.configuration_fetches() == 2).await;
    world.caller(&token).await;
    world.advance(1);
    assert_eq!(world.refusal(&token).await, "unavailable");
    issuer.set_configuration(Answer::json(&configuration_of(&issuer.url)));
    world.advance(60);
    until("a fetch", || issuer.key_fetches() == 2).await;
    world.until_refusal(&token, "accepted as agency:ana").await;
    keeping.abort();
}

#[tokio::test]
async fn keys_are_fetched_again_when_the_issuer_says() {
    let signer = Signer::new("ES256", "k");
    for (header, pause) in [
        (None, 300),
        (Some("max-age=600"), 600),
        (Some("public, Max-Age=\"120\""), 120),
        (Some("max-age=1"), 60),
        (Some("max-age=100000"), 3_600),
        (Some("no-store"), 300),
    ] {
        let issuer = Issuer::start(&[&signer]).await;
        let headers = header.map(|value| ("cache-control", value.to_owned())).into_iter().collect();
        issuer.set_keys(Answer { headers, ..jwks(&[&signer]) });
        let world = issuer.world("");
        world.caller(&issuer.token(&signer)).await;
        let keeping = tokio::spawn(world.identity.clone().keep_keys());
        world.advance(pause - 1);
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(issuer.key_fetches(), 1, "{header:?}");
        world.advance(1);
        until("a fetch", || issuer.key_fetches() == 2).await;
        keeping.abort();
    }
}

#[tokio::test]
async fn only_keys_for_signatures_are_used() {
    let signer = Signer::new("ES256", "k");
    let good = signer.jwk();
    let with = |name: &str, value: Value| with(&good, &json!({name: value}));
    let without = |name: &str| {
        let mut jwk = good.clone();
        jwk.as_object_mut().expect("sound test data").remove(name);
        jwk
    };
    for (name, jwk, is_used) in [
        ("as it is", good.clone(), true),
        ("without a purpose", without("use"), true),
        ("without an algorithm", without("alg"), true),
        ("to verify", with("key_ops", json!(["verify", "sign"])), true),
        ("for encryption", with("use", json!("enc")), false),
        ("purpose of another type", with("use", json!(["sig"])), false),
        ("to sign", with("key_ops", json!(["sign"])), false),
        ("operations as a string", with("key_ops", json!("verify")), false),
        ("another algorithm", with("alg", json!("ES384")), false),
        ("an unknown algorithm", with("alg", json!("ES256K")), false),
        ("private", with("d", json!("AA")), false),
        ("symmetric", json!({"kty": "oct", "k": "AAAA", "kid": "k"}), false),
        ("another curve", with("crv", json!("P-521")), false),
        ("short", with("x", json!("AAAA")), false),
        ("not base64url", with("x", json!("====")), false),
        ("no type", without("kty"), false),
        ("no coordinate", without("y"), false),
        ("name of another type", with("kid", json!(["k"])), false),
        ("no object", json!("k"), false),
    ] {
        let issuer = Issuer::start(&[]).await;
        let other = Signer::new("ES256", "other");
        issuer.set_keys(Answer::json(&json!({"keys": [other.jwk(), jwk]})));
        let world = issuer.world("");
        let refusal = world.refusal(&issuer.token(&signer)).await;
        let expected = if is_used { "accepted as agency:ana" } else { UNKNOWN };
        assert_eq!(refusal, expected, "{name}");
        assert_eq!(world.refusal(&issuer.token(&other)).await, "accepted as agency:ana", "{name}");
    }
}

#[tokio::test]
async fn keys_of_the_same_name_are_both_left_out() {
    let (first, second) = (Signer::new("ES256", "k"), Signer::new("ES256", "k"));
    let issuer = Issuer::start(&[&first, &second]).await;
    let world = issuer.world("");
    for signer in [&first, &second] {
        assert_eq!(world.refusal(&issuer.token(signer)).await, UNKNOWN);
    }
}

#[tokio::test]
async fn weak_rsa_keys_are_left_out() {
    let signer = Signer::new("RS256", "k");
    let jwk = signer.jwk();
    let modulus = jwk["n"].as_str().expect("sound test data");
    for (name, n, e) in [
        ("short", &modulus[..170], "AQAB"),
        ("long", &modulus.repeat(5), "AQAB"),
        ("exponent 1", modulus, "AQ"),
        ("even exponent", modulus, "Ag"),
        ("exponent zero", modulus, "AA"),
        ("no exponent", modulus, ""),
    ] {
        let issuer = Issuer::start(&[]).await;
        let weak = with(&jwk, &json!({"n": n, "e": e}));
        issuer.set_keys(Answer::json(&json!({"keys": [weak]})));
        assert_eq!(issuer.world("").refusal(&issuer.token(&signer)).await, UNKNOWN, "{name}");
    }
}
