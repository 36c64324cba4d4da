//! Bounds of the caches of tokens. No caller is refused because of them.

use serde_json::json;

use crate::support::{Issuer, NOW, Signer, known_issuer};

fn numbered(issuer: &Issuer, signer: &Signer, number: usize, ends: i64) -> String {
    issuer.token_with(signer, &json!({"jti": format!("{number}"), "exp": ends}))
}

#[tokio::test]
async fn at_most_10_000_verified_tokens_are_remembered() {
    let (signer, issuer, world) = known_issuer("").await;
    let token = |number| numbered(&issuer, &signer, number, NOW + 600);
    for number in 0..11_000 {
        world.caller(&token(number)).await;
    }
    let [verified, refused] = world.remembered();
    assert!((9_000..=10_000).contains(&verified), "{verified}");
    assert_eq!(refused, 0);
    // What was pushed out is verified again.
    for number in (0..11_000).step_by(500) {
        world.caller(&token(number)).await;
    }
    assert!(world.remembered()[0] <= 10_000);
}

#[tokio::test]
async fn at_most_4_096_refusals_are_remembered_and_push_out_no_token() {
    let (signer, issuer, world) = known_issuer("").await;
    for number in 0..100 {
        world.caller(&numbered(&issuer, &signer, number, NOW + 600)).await;
    }
    for number in 0..10_000 {
        assert_eq!(world.refusal(&format!("{number}")).await, THREE_PARTS);
    }
    for number in 0..1_000 {
        let refusal = world.refusal(&numbered(&issuer, &signer, number, NOW - 60)).await;
        assert_eq!(refusal, "the token expired 60 seconds ago");
    }
    let [verified, refused] = world.remembered();
    assert!((3_600..=4_096).contains(&refused), "{refused}");
    assert_eq!(verified, 100);
}

const THREE_PARTS: &str =
    "an access token must be a JSON Web Token of three parts separated by dots";
