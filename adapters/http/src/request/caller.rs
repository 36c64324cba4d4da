//! The caller of a request.

use application::Caller;
use poem::Request;

/// The caller of every request as long as nobody is asked who they are.
static NOBODY: Caller = Caller::Anonymous;

/// Returns on whose behalf a request is answered.
pub fn caller_of(request: &Request) -> &Caller {
    request.data::<Caller>().unwrap_or(&NOBODY)
}
