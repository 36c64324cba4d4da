//! The data that the service keeps with a request from its beginning.

use std::sync::{Arc, OnceLock};

use application::Caller;
use poem::Request;
use poem::http::HeaderValue;

/// The id of a request, for whatever keeps it beside what the request did, and what is told to those who observe the request.
/// One entry of its data for both: the map of these is allocated anew for a fourth.
#[derive(Clone, Debug)]
pub struct RequestDetails {
    /// The id.
    pub id: HeaderValue,
    /// Nothing where nobody observes.
    pub routed: Option<Arc<Routed>>,
}

/// The path and the caller of a request, as soon as they are known: the layers above see them also when a request is given up.
#[derive(Debug, Default)]
pub struct Routed {
    /// The path with its parameters in braces.
    pub route: OnceLock<Arc<str>>,
    /// The caller, if they were looked at.
    pub caller: OnceLock<Caller>,
}

/// Returns the id of a request.
pub fn request_id_of(request: &Request) -> Option<&str> {
    request.data::<RequestDetails>()?.id.to_str().ok()
}

/// Returns what those who observe a request are told.
pub fn routed_of(request: &Request) -> Option<&Routed> {
    request.data::<RequestDetails>()?.routed.as_deref()
}
