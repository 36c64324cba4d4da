//! Cross-origin requests (the Fetch standard) of configured origins; by default none.

use poem::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, ORIGIN, VARY,
};
use poem::http::{HeaderMap, HeaderValue};

const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Accept-Ranges, Age, Allow, Consistency-Token, Content-Disposition, Content-Range, ETag, Last-Modified, Link, Location, Preference-Applied, Repr-Digest, Retry-After, WWW-Authenticate, X-Request-Id",
);
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, Authorization, Cache-Control, Consistency-Token, Content-Disposition, Content-Digest, Content-Type, Idempotency-Key, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Last-Event-ID, Prefer, Range, Repr-Digest, X-Request-Id",
);
const MAX_AGE: HeaderValue = HeaderValue::from_static("3600");

#[derive(Clone, Debug, Default)]
pub struct Cors {
    origins: Vec<HeaderValue>,
}

impl Cors {
    pub const fn new(origins: Vec<HeaderValue>) -> Self {
        Self { origins }
    }

    pub fn is_off(&self) -> bool {
        self.origins.is_empty()
    }

    /// Excludes `null`, the origin of sandboxed frames and files of any site.
    pub fn admits_writes_of(&self, origin: &HeaderValue) -> bool {
        origin != "null" && self.admits(origin)
    }

    fn admits(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|known| known == origin || known == "*")
    }

    pub fn admit(&self, request: &HeaderMap, is_preflight: bool, response: &mut HeaderMap) {
        response.append(VARY, HeaderValue::from_static("Origin"));
        let Some(origin) = request.get(ORIGIN).filter(|origin| self.admits(origin)) else {
            return;
        };
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        if is_preflight {
            if let Some(allow) = response.get(ALLOW).cloned() {
                response.insert(ACCESS_CONTROL_ALLOW_METHODS, allow);
            }
            response.insert(ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
            response.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
}
