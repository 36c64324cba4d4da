//! Callers for tests that write to the store.

use std::sync::Arc;

use application::{Caller, ChangeAuthor, Warrant};
use domain::{Members, Principal};

/// The permission to write for a caller with an id only, or for an anonymous one.
pub fn warrant_of(id: Option<&str>) -> Warrant {
    warrant_by(&ChangeAuthor { caller: id.map(str::to_owned), ..ChangeAuthor::default() })
}

/// The permission to write for an author of the change log.
pub fn warrant_by(ChangeAuthor { caller, acting, client, request_id }: &ChangeAuthor) -> Warrant {
    let boxed = |text: &Option<String>| text.as_deref().map(Box::from);
    let caller = caller.as_deref().map_or(Caller::Anonymous, |id| {
        let via = (boxed(acting), boxed(client));
        let principal = Principal::with(id.into(), Box::default(), &Members::default(), via);
        Caller::Known(Arc::new(principal))
    });
    Warrant::of_the_service(&caller, request_id.as_deref())
}

/// The author that the change log keeps of a write.
pub fn author_of(warrant: &Warrant) -> ChangeAuthor {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    ChangeAuthor {
        caller: owned(warrant.caller()),
        acting: owned(warrant.acting()),
        client: owned(warrant.client()),
        request_id: owned(warrant.request_id()),
    }
}
