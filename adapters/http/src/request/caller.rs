//! The caller of a request, and the id of the request.

use application::Caller;
use poem::Request;
use poem::http::HeaderValue;

/// The caller of every request as long as nobody is asked who they are.
static NOBODY: Caller = Caller::Anonymous;

/// The id of a request, for whatever keeps it beside what the request did.
#[derive(Clone, Debug)]
pub struct RequestId(pub HeaderValue);

/// Returns on whose behalf a request is answered.
pub fn caller_of(request: &Request) -> &Caller {
    request.data::<Caller>().unwrap_or(&NOBODY)
}

/// Returns the id of a request.
pub fn request_id_of(request: &Request) -> Option<&str> {
    request.data::<RequestId>()?.0.to_str().ok()
}
