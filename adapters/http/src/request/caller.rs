//! The caller of a request, and the id of the request.

use std::fmt;
use std::sync::Arc;

use application::Caller;
use poem::Request;
use poem::http::HeaderValue;

/// The caller of a request without credentials.
pub static NOBODY: Caller = Caller::Anonymous;

/// The id of a request, for whatever keeps it beside what the request did.
#[derive(Clone, Debug)]
pub struct RequestId(pub HeaderValue);

/// The token of a request, for answers that last longer than it may. It does not display.
#[derive(Clone)]
pub struct PresentedToken(Arc<str>);

impl PresentedToken {
    pub fn new(token: &str) -> Self {
        Self(token.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PresentedToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PresentedToken")
    }
}

/// Returns on whose behalf a request is answered.
pub fn caller_of(request: &Request) -> &Caller {
    request.data::<Caller>().unwrap_or(&NOBODY)
}

/// Returns the id of a request.
pub fn request_id_of(request: &Request) -> Option<&str> {
    request.data::<RequestId>()?.0.to_str().ok()
}
