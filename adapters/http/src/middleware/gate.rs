//! Admission: authentication, and a first check of permissions per path.
//!
//! The use cases check the policies again, for individual items.

use std::sync::Arc;
use std::time::Duration;

use application::{AccessControl, ApplicationError, Caller, Identity, Ports, Unrecognized};
use domain::{Operation, Principal};
use poem::http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use poem::http::{HeaderName, HeaderValue, Method, StatusCode};
use poem::{Request, Response};

use crate::base_url::BaseUrl;
use crate::groups::Group;
use crate::headers::content_policy::permit_issuers;
use crate::headers::media_type::MediaType;
use crate::headers::set;
use crate::links::{HEALTH, PROTECTED_RESOURCE, READINESS};
use crate::middleware::audit_log::{AuditLog, AuditSubject, AuditedRequest};
use crate::middleware::rate_limit::{Rate, RateLimits, TooFast};
use crate::middleware::seen_callers::SeenCallers;
use crate::middleware::sites::Sites;
use crate::problem::{Problem, Result, kinds};
use crate::request::caller::{ANONYMOUS, Credentials, UnreadableCredentials, bearer_token};
use crate::sessions::{
    RequestSession, SessionCookie, SessionId, Sessions, UnreadableCookie, Unrecognizable,
};

/// The protection space (RFC 9110 section 11.5).
const REALM: &str = "research proposals";

/// The token that a page of a session sends with writes.
pub const PAGE_TOKEN: HeaderName = HeaderName::from_static("page-token");

const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

#[derive(Clone, Copy, Debug)]
pub enum Asks {
    Nothing,
    /// Authenticates, and admits everybody: the response depends on the caller.
    Anybody,
    /// Requires a known caller if authentication is configured.
    SignedIn,
    SomeRead,
    /// All of these operations, on some items of the group.
    Operations(Group, &'static [Operation]),
}

impl Asks {
    /// `None` for paths that do not authenticate.
    fn audited(self) -> Option<AuditSubject> {
        let (group, operations, kind) = match self {
            Self::Nothing => return None,
            Self::Anybody => (None, &[][..], "view"),
            Self::SignedIn => (None, &[][..], "evaluate"),
            Self::SomeRead => (None, &[][..], "changes"),
            Self::Operations(group, operations) => (Some(group), operations, ""),
        };
        Some(AuditSubject { group, operations, kind })
    }
}

pub struct Gate {
    pub base_url: Arc<BaseUrl>,
    identity: Option<Arc<dyn Identity>>,
    access: AccessControl,
    pub limits: RateLimits,
    pub sites: Sites,
    pub sessions: Sessions,
    seen: SeenCallers,
    audit_log: Option<AuditLog>,
}

impl Gate {
    pub fn new(
        base_url: Arc<BaseUrl>,
        ports: &Ports,
        limits: RateLimits,
        sites: Sites,
        audit_log: Option<AuditLog>,
    ) -> Self {
        let access = AccessControl::new(Arc::clone(&ports.policies));
        let seen = SeenCallers::new(Arc::clone(&ports.callers), Arc::clone(&ports.clock));
        let (store, clock) = (Arc::clone(&ports.sessions), Arc::clone(&ports.clock));
        let sessions = Sessions::new(store, clock, SessionCookie::of(&base_url));
        let identity = ports.identity.clone();
        Self { base_url, identity, access, limits, sites, sessions, seen, audit_log }
    }

    pub fn audit(&self, asks: Asks, request: &Request) -> Option<AuditedRequest> {
        Some(self.audit_log.as_ref()?.begin(asks.audited()?, request))
    }

    /// Protects requests without credentials against other web sites, while anonymous callers may
    /// read or write. Health probes are exempt: they name arbitrary hosts.
    pub fn check_site(&self, asks: Option<Asks>, request: &Request) -> Result<()> {
        let Err(problem) = self.sites.check(request) else { return Ok(()) };
        let is_probe = matches!(request.uri().path(), HEALTH | READINESS);
        if is_probe
            || self.has_credentials(asks, request)
            || !self.access.may_do_anything(&ANONYMOUS)
        {
            return Ok(());
        }
        Err(problem)
    }

    /// Includes a preflight for a request with credentials: browsers send none with it.
    fn has_credentials(&self, asks: Option<Asks>, request: &Request) -> bool {
        let headers = request.headers();
        let is_preflight = request.method() == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let is_verified = asks.is_some_and(|asks| !matches!(asks, Asks::Nothing));
        self.identity.is_some()
            && (is_preflight || is_verified && headers.contains_key(AUTHORIZATION))
    }

    /// Stores the caller in the request, also if it refuses the request. `is_page` is true for paths
    /// of pages.
    pub async fn admit(&self, asks: Asks, is_page: bool, request: &mut Request) -> Result<()> {
        if matches!(asks, Asks::Nothing) {
            return Ok(());
        }
        self.limits.count_address(request).map_err(too_fast)?;
        let Some(identity) = &self.identity else { return self.require(asks, &ANONYMOUS) };
        let token = bearer_token(request.headers()).map_err(|error| self.unreadable(&error))?;
        let principal = match token {
            Some(token) => {
                let recognized = identity.recognize(token).await;
                recognized.map_err(|refusal| self.unrecognized(refusal))?
            }
            None => match self.by_session(identity.as_ref(), is_page, request).await? {
                Some(principal) => principal,
                None => return self.require(asks, &ANONYMOUS),
            },
        };
        let caller = Caller::Known(Arc::clone(&principal));
        // Set before any refusal, for the audit log.
        request.set_data(caller.clone());
        self.limits.count_caller(&principal.id).map_err(too_fast)?;
        self.seen.note(&principal);
        self.require(asks, &caller)
    }

    /// Returns the caller by the cookie of a session. `None` without one that counts.
    async fn by_session(
        &self,
        identity: &dyn Identity,
        is_page: bool,
        request: &mut Request,
    ) -> Result<Option<Arc<Principal>>> {
        let Some(cookie) = self.sessions.cookie else { return Ok(None) };
        let (headers, is_read) = (request.headers(), request.method().is_safe());
        let page_token = headers.get(PAGE_TOKEN).map(HeaderValue::as_bytes);
        let id = match cookie.read(headers) {
            // The page belongs to a session that was left in another tab.
            Ok(None) if !is_read && page_token.is_some() => return Err(self.ended()),
            Ok(None) => return Ok(None),
            Ok(Some(id)) => Some(id),
            Err(UnreadableCookie) => None,
        };
        let is_own_page = self.sites.is_own_page(request);
        let id = if is_read {
            id.filter(|_| is_page || is_own_page)
        } else {
            let is_admitted = |id: &SessionId| page_token.is_some_and(|it| id.has_page_token(it));
            let id = id.filter(|id| is_own_page && is_admitted(id));
            Some(id.ok_or_else(foreign)?)
        };
        let Some(id) = id else { return Ok(None) };
        match self.sessions.recognize(identity, &id).await {
            Ok(Some(principal)) => {
                request.set_data(RequestSession::Open(Arc::new(id)));
                Ok(Some(principal))
            }
            Ok(None) if is_page => {
                request.set_data(RequestSession::Ended);
                Ok(None)
            }
            Ok(None) => Err(self.ended()),
            Err(Unrecognizable::Store(error)) => Err(error.into()),
            Err(Unrecognizable::Issuer) => Err(self.unrecognized(Unrecognized::Unavailable)),
        }
    }

    fn ended(&self) -> Problem {
        let problem = Problem::new(&kinds::INVALID_TOKEN, "Your session has ended. Sign in again.");
        self.challenged(problem, "error=\"invalid_token\"")
    }

    pub const fn knows_callers(&self) -> bool {
        self.identity.is_some()
    }

    pub async fn is_still(&self, caller: &Caller, credentials: &Credentials) -> bool {
        let Some(identity) = &self.identity else { return true };
        let principal = match credentials {
            Credentials::Token(token) => match identity.recognize(token).await {
                Ok(principal) => Some(principal),
                // The issuer may recover before the next check; the token's expiry is known.
                Err(Unrecognized::Unavailable) => return true,
                Err(Unrecognized::Invalid(_)) => None,
            },
            Credentials::Session(id) => {
                match self.sessions.recognize(identity.as_ref(), id).await {
                    Ok(principal) => principal,
                    Err(_) => return true,
                }
            }
        };
        principal.is_some_and(|principal| Caller::Known(principal) == *caller)
    }

    fn require(&self, asks: Asks, caller: &Caller) -> Result<()> {
        let required = match asks {
            Asks::SignedIn if caller.id().is_none() && self.identity.is_some() => {
                Err(ApplicationError::CredentialsRequired)
            }
            Asks::Nothing | Asks::Anybody | Asks::SignedIn => Ok(()),
            Asks::SomeRead => self.access.require_some_read(caller),
            Asks::Operations(group, operations) => {
                let parents = group.parent().map(|parent| parent.collection);
                let access = &self.access;
                access.require_below(caller, parents, group.collection, operations).map(drop)
            }
        };
        required.map_err(|error| self.refused(error))
    }

    fn refused(&self, error: ApplicationError) -> Problem {
        let ApplicationError::InsufficientScope { operation } = error else { return error.into() };
        let scopes = self.scopes_for(operation);
        let challenge = format!("error=\"insufficient_scope\", scope=\"{scopes}\"");
        self.challenged(error.into(), &challenge)
    }

    fn scopes_for(&self, operation: Operation) -> String {
        let published = self.identity.as_ref().map(|identity| identity.published());
        let scopes = published.iter().flat_map(|published| &published.scopes);
        let granting = scopes.filter(|(_, granted)| granted.contains(operation));
        granting.map(|(name, _)| &**name).collect::<Vec<_>>().join(" ")
    }

    fn unrecognized(&self, refusal: Unrecognized) -> Problem {
        match refusal {
            Unrecognized::Invalid(reason) => {
                tracing::debug!(%reason, "a token was refused");
                let challenge = match error_description(&reason) {
                    Some(described) => format!("error=\"invalid_token\", {described}"),
                    None => "error=\"invalid_token\"".to_owned(),
                };
                let detail = format!("The credentials are not accepted: {reason}.");
                self.challenged(Problem::new(&kinds::INVALID_TOKEN, detail), &challenge)
            }
            Unrecognized::Unavailable => {
                let detail = "The token cannot be verified now: its issuer cannot be reached, or too many tokens are waiting.";
                Problem::new(&kinds::UNAVAILABLE, detail).with_header(RETRY_AFTER, "10")
            }
        }
    }

    fn unreadable(&self, error: &UnreadableCredentials) -> Problem {
        let problem = Problem::new(&kinds::MALFORMED_CREDENTIALS, error.to_string());
        self.challenged(problem, "error=\"invalid_request\"")
    }

    fn challenged(&self, problem: Problem, parameters: &str) -> Problem {
        problem.with_header(WWW_AUTHENTICATE, self.challenge(parameters))
    }

    /// RFC 6750 section 3.
    fn challenge(&self, parameters: &str) -> String {
        let separator = if parameters.is_empty() { "" } else { ", " };
        let base_url = &self.base_url;
        format!(
            "Bearer realm=\"{REALM}\", resource_metadata=\"{base_url}{PROTECTED_RESOURCE}\"{separator}{parameters}"
        )
    }

    pub fn complete(&self, asks: Asks, is_page: bool, response: &mut Response) {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED && !response.headers().contains_key(WWW_AUTHENTICATE)
        {
            set(response.headers_mut(), WWW_AUTHENTICATE, self.challenge(""));
        }
        let Some(identity) = &self.identity else { return };
        permit_issuers(response.headers_mut(), identity.as_ref());
        if !matches!(asks, Asks::Nothing) {
            let headers = response.headers_mut();
            headers.append(VARY, HeaderValue::from_static("Authorization, Cookie"));
            let is_html =
                headers.get(CONTENT_TYPE).is_some_and(|media| *media == MediaType::HTML.header());
            if is_page && is_html {
                // A page has the token of its session.
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
            } else if headers.get(CACHE_CONTROL).is_none_or(|control| control != "no-store") {
                // `no-store` is stricter already.
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
            }
        }
    }
}

fn foreign() -> Problem {
    let detail = "A write with the cookie of a session must come from a page of this session. Reload the page.";
    Problem::new(&kinds::CROSS_SITE, detail)
}

/// The reason may come from an operator. A challenge allows only some characters (RFC 6750 section
/// 3).
fn error_description(reason: &str) -> Option<String> {
    let is_plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    reason.bytes().all(is_plain).then(|| format!("error_description=\"{reason}\""))
}

/// 429 (RFC 6585 section 4), with headers of draft-ietf-httpapi-ratelimit-headers-10.
fn too_fast(refusal: TooFast) -> Problem {
    let TooFast { party, rate: Rate { interval, burst }, wait } = refusal;
    let seconds = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let (wait, window) = (seconds(wait), seconds(interval.saturating_mul(burst)));
    let detail = format!("Too many requests of this {party}. Retry in {wait} s.");
    let headers = [
        (RETRY_AFTER, wait.to_string()),
        (RATE_LIMIT_POLICY, format!("\"{party}\";q={burst};w={window}")),
        (RATE_LIMIT, format!("\"{party}\";r=0;t={wait}")),
    ];
    let problem = Problem::new(&kinds::TOO_MANY_REQUESTS, detail);
    headers.into_iter().fold(problem, |problem, (name, value)| problem.with_header(name, value))
}

#[cfg(test)]
mod tests {
    use super::error_description;

    #[test]
    fn a_reason_that_a_challenge_cannot_have_is_left_out() {
        for (reason, expected) in [
            ("the token expired", Some("error_description=\"the token expired\"")),
            ("confirm it \"first\"", None),
            ("a \\ b", None),
            ("Bestätigen Sie zuerst", None),
            ("a\nb", None),
        ] {
            assert_eq!(error_description(reason).as_deref(), expected, "{reason}");
        }
    }
}
