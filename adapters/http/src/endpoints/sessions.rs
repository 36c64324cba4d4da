//! `/session`: the session of a browser that is signed in on the pages of the service.

use std::sync::Arc;

use application::{ApplicationError, Caller};
use poem::http::header::{CACHE_CONTROL, SET_COOKIE};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Request, Response};
use serde_json::json;

use crate::endpoints::content;
use crate::endpoints::resources::HttpContext;
use crate::headers::set;
use crate::problem::{Problem, Result, kinds};
use crate::query::{query_of, refuse_parameters};
use crate::request::caller::{bearer_token, caller_of};
use crate::sessions::{RequestSession, SessionId};

const EVERYWHERE: &str = "everywhere=true";

pub async fn session(context: Arc<HttpContext>, request: Request) -> Result<Response> {
    let mut response = match *request.method() {
        Method::POST => begin(&context, &request).await?,
        Method::DELETE => end(&context, &request).await?,
        _ => {
            refuse_parameters(&request)?;
            described(&request, RequestSession::current(&request).map(AsRef::as_ref))
        }
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The id is always a new one, so that a browser never keeps one that somebody else chose.
async fn begin(context: &HttpContext, request: &Request) -> Result<Response> {
    refuse_parameters(request)?;
    let (base_url, gate) = (&context.base_url, &context.gate);
    let Some(cookie) = gate.sessions.cookie else {
        let detail = format!(
            "Pages sign in over HTTPS only, and this service is at {base_url}. Its operators set an address with `--base-url`."
        );
        return Err(Problem::new(&kinds::HTTPS_REQUIRED, detail));
    };
    if !gate.sites.is_own_page(request) {
        let detail =
            format!("Only a page of the service begins a session. Open {base_url}/explore");
        return Err(Problem::new(&kinds::CROSS_SITE, detail));
    }
    let token = bearer_token(request.headers()).ok().flatten();
    let (Caller::Known(principal), Some(token)) = (caller_of(request), token) else {
        return Err(ApplicationError::CredentialsRequired.into());
    };
    let id = gate.sessions.begin(principal, token).await?;
    if let Ok(Some(earlier)) = cookie.read(request.headers()) {
        gate.sessions.end(&earlier).await?;
    }
    Ok(with_cookie(described(request, Some(&id)), &cookie.keep(&id)))
}

async fn end(context: &HttpContext, request: &Request) -> Result<Response> {
    let is_everywhere = query_of(request) == EVERYWHERE;
    if !is_everywhere {
        refuse_parameters(request)?;
    }
    let sessions = &context.gate.sessions;
    if let Some(id) = caller_of(request).id().filter(|_| is_everywhere) {
        sessions.end_all(id).await?;
    }
    if let Some(id) = RequestSession::current(request) {
        sessions.end(id).await?;
    }
    let response = StatusCode::NO_CONTENT.into();
    Ok(match sessions.cookie {
        Some(cookie) => with_cookie(response, &cookie.remove()),
        None => response,
    })
}

/// The caller, and the token that pages of the session send with writes.
fn described(request: &Request, session: Option<&SessionId>) -> Response {
    let principal = caller_of(request).principal();
    let body = json!({
        "caller": principal.map(|it| json!({ "id": it.id, "name": it.name })),
        "page_token": session.map(SessionId::page_token),
    });
    content::untagged(request, body.to_string())
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    set(response.headers_mut(), SET_COOKIE, cookie);
    response
}
