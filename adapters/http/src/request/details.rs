//! The data that the service keeps with a request.

use std::sync::{Arc, OnceLock};

use application::Caller;
use poem::Request;
use poem::http::HeaderValue;

/// One entry for both: poem's map reallocates at a fourth entry.
#[derive(Clone, Debug)]
pub struct RequestDetails {
    pub id: HeaderValue,
    /// `None` without observers.
    pub routed: Option<Arc<Routed>>,
}

/// Set as soon as known, so that outer layers see it even if the request is aborted.
#[derive(Debug, Default)]
pub struct Routed {
    pub route: OnceLock<Arc<str>>,
    pub caller: OnceLock<Caller>,
}

pub fn request_id_of(request: &Request) -> Option<&str> {
    request.data::<RequestDetails>()?.id.to_str().ok()
}

pub fn routed_of(request: &Request) -> Option<&Routed> {
    request.data::<RequestDetails>()?.routed.as_deref()
}
