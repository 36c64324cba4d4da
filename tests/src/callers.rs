//! Callers for tests that write to the store.

use std::sync::Arc;

use application::{Caller, Warrant};
use domain::Principal;

/// The permission to write for a caller of whom nothing but the id is known, or for nobody.
#[must_use]
pub fn warrant_of(id: Option<&str>) -> Warrant {
    let caller = id.map_or(Caller::Anonymous, |id| Caller::Known(Arc::new(Principal::named(id))));
    Warrant::of_the_service(&caller, None)
}
