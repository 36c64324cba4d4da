//! Bounds of what is remembered of tokens, for which nobody is refused.

use crate::support::{Issuer, NOW, Signer, World};

/// A token that is another for each number.
fn numbered(issuer: &Issuer, signer: &Signer, number: usize, ends: i64) -> String {
    let mut claims = issuer.payload();
    claims["jti"] = format!("{number}").into();
    claims["exp"] = ends.into();
    signer.token(&signer.header().to_string(), &claims.to_string())
}

#[tokio::test]
async fn at_most_10_000_verified_tokens_are_remembered() {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let world = World::new(&issuer.file(""));
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
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let world = World::new(&issuer.file(""));
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
    "an access token is a JSON Web Token of three parts, with a dot between them";
