//! No token with a changed byte is accepted.

use std::sync::LazyLock;

use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::support::{Issuer, Signer, World};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("sound test data"));

/// A service, and a token for each algorithm that it accepts.
static ACCEPTED: LazyLock<(World, Vec<String>)> = LazyLock::new(|| {
    RUNTIME.block_on(async {
        let signers: Vec<_> = ["RS256", "PS256", "ES256", "ES384", "EdDSA"]
            .into_iter()
            .map(|algorithm| Signer::new(algorithm, algorithm))
            .collect();
        let issuer = Issuer::start(&signers.iter().collect::<Vec<_>>()).await;
        let world = issuer.world("");
        let tokens: Vec<_> = signers.iter().map(|signer| issuer.token(signer)).collect();
        for token in &tokens {
            world.caller(token).await;
        }
        (world, tokens)
    })
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_changed_byte_is_accepted(
        which in 0_usize..5,
        at in any::<prop::sample::Index>(),
        letter in "[ -~]",
        change in 0..4,
    ) {
        let (world, tokens) = &*ACCEPTED;
        let token = &tokens[which];
        let at = at.index(token.len());
        let (before, rest) = token.split_at(at);
        let changed = match change {
            0 => format!("{before}{letter}{}", &rest[1..]),
            1 => format!("{before}{letter}{rest}"),
            2 => format!("{before}{}", &rest[1..]),
            _ => before.to_owned(),
        };
        prop_assume!(changed != *token);
        let refusal = RUNTIME.block_on(world.refusal(&changed));
        prop_assert!(!refusal.starts_with("accepted"), "{changed}");
        prop_assert!(!refusal.contains(rest) || rest.len() < 4);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let refusal = RUNTIME.block_on(ACCEPTED.0.refusal(&text));
        prop_assert!(!refusal.starts_with("accepted"));
    }
}
