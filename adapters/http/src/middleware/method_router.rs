//! The methods of a path, and the common part of its responses.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use poem::http::header::{ALLOW, CONTENT_TYPE, VARY};
use poem::http::{HeaderValue, Method, StatusCode};
use poem::{Endpoint, Request, Response};

use crate::headers::METHODS;
use crate::headers::accept::negotiate;
use crate::headers::media_type::MediaType;
use crate::middleware::audit_log::AuditedRequest;
use crate::middleware::gate::{Asks, Gate};
use crate::problem::{Problem, Result, kinds};
use crate::request::caller::caller_of;
use crate::request::details::routed_of;

#[derive(Clone, Copy, Debug)]
pub struct Negotiated(MediaType);

impl Negotiated {
    pub fn of(request: &Request) -> MediaType {
        request.data::<Self>().map_or(MediaType::HAL, |negotiated| negotiated.0)
    }
}

/// Checks in this order: 421, 403 for other web sites, OPTIONS and 405, the [`Gate`] (400, 401,
/// 403, 429, 503), 406. Every response has Allow and Content-Type.
pub struct MethodRouter {
    methods: Vec<ServedMethod>,
    allow: HeaderValue,
    media_types: Vec<MediaType>,
    /// False if the handler of reads negotiates.
    negotiates_reads: bool,
    gate: Arc<Gate>,
    route: Option<Arc<str>>,
}

#[async_trait]
pub trait Handler: Send + Sync {
    async fn handle(&self, request: &mut Request) -> Result<Response>;
}

pub type ServedMethod = (Method, Asks, Box<dyn Handler>);

impl MethodRouter {
    pub fn new(
        gate: &Arc<Gate>,
        media_types: Vec<MediaType>,
        methods: impl IntoIterator<Item = ServedMethod>,
    ) -> Self {
        let methods: Vec<_> = methods.into_iter().collect();
        let serves = |name: &str| methods.iter().any(|(method, ..)| method == name);
        let is_allowed = |name: &&str| match *name {
            "OPTIONS" => true,
            "HEAD" => serves("GET"),
            name => serves(name),
        };
        let allowed: Vec<_> = METHODS.into_iter().filter(is_allowed).collect();
        let allow = HeaderValue::from_str(&allowed.join(", "));
        let allow = allow.unwrap_or_else(|_| HeaderValue::from_static(""));
        let gate = Arc::clone(gate);
        Self { methods, allow, media_types, negotiates_reads: true, gate, route: None }
    }

    pub fn measured(self, route: Arc<str>) -> Self {
        Self { route: Some(route), ..self }
    }

    pub fn unnegotiated(
        gate: &Arc<Gate>,
        kind: MediaType,
        asks: Asks,
        handler: Box<dyn Handler>,
    ) -> Self {
        let methods = [(Method::GET, asks, handler)];
        Self::new(gate, vec![kind], methods).with_stored_types()
    }

    /// Leaves it to the handler whether the client accepts the type of a read.
    pub fn with_stored_types(self) -> Self {
        Self { negotiates_reads: false, ..self }
    }

    fn is_page(&self) -> bool {
        self.media_types.contains(&MediaType::HTML)
    }

    #[cfg(test)]
    pub fn asked(&self) -> impl Iterator<Item = (&Method, Asks)> {
        self.methods.iter().map(|(method, asks, _)| (method, *asks))
    }

    fn served(&self, method: &Method) -> Option<&ServedMethod> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.methods.iter().find(|(served, ..)| served == method)
    }

    async fn answer(
        &self,
        request: &mut Request,
        negotiated: Option<MediaType>,
        mut audited: Option<&mut AuditedRequest>,
    ) -> Result<Response> {
        let served = self.served(request.method());
        self.gate.check_site(served.map(|(_, asks, _)| *asks), request)?;
        if request.method() == Method::OPTIONS {
            return Ok(StatusCode::NO_CONTENT.into());
        }
        let Some((_, asks, handler)) = served else {
            let allow = self.allow.to_str().unwrap_or_default();
            let detail = format!("This path supports {allow}.");
            return Err(Problem::new(&kinds::METHOD_NOT_ALLOWED, detail));
        };
        let admitted = self.gate.admit(*asks, self.is_page(), request).await;
        if let Some(routed) = routed_of(request) {
            routed.caller.get_or_init(|| caller_of(request).clone());
        }
        if let Some(audited) = &mut audited {
            audited.recognize(request);
        }
        admitted?;
        let Some(media) = negotiated else {
            let served: Vec<_> = self.media_types.iter().map(|media| media.name()).collect();
            let served = served.join(", ");
            let detail = format!("This path provides {served}. Accept one of them.");
            return Err(Problem::new(&kinds::NOT_ACCEPTABLE, detail));
        };
        request.set_data(Negotiated(media));
        if let Some(audited) = audited {
            audited.reserve().await?;
        }
        handler.handle(request).await
    }
}

/// Withholds the response if its required audit line cannot be written.
async fn recorded(audited: AuditedRequest, answer: Result<Response>) -> Result<Response> {
    let (status, policies) = match &answer {
        Ok(response) => (response.status(), &[][..]),
        Err(problem) => (problem.kind.status, problem.policies()),
    };
    audited.finish(status, policies).await?;
    answer
}

impl Endpoint for MethodRouter {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let negotiated = negotiate(request.headers(), &self.media_types);
        let negotiated = if is_read && !self.negotiates_reads {
            negotiated.or_else(|| self.media_types.first().copied())
        } else {
            negotiated
        };
        // Cloned because a handler may consume the request.
        let uri = request.uri().clone();
        let asks = self.served(request.method()).map_or(Asks::Nothing, |(_, asks, _)| *asks);
        let fallback = negotiated.filter(|media| media.is_json()).unwrap_or(MediaType::JSON);
        let mut audited = self.gate.audit(asks, &request);
        if let (Some(routed), Some(route)) = (routed_of(&request), &self.route) {
            routed.route.get_or_init(|| Arc::clone(route));
        }
        let answer = {
            let answer = pin!(self.answer(&mut request, negotiated, audited.as_mut()));
            AssertUnwindSafe(answer).catch_unwind().await
        };
        // The panic hook has logged the cause.
        let answer = answer.unwrap_or_else(|_| Err(Problem::internal()));
        let answer = match audited {
            Some(audited) => recorded(audited, answer).await,
            None => answer,
        };
        let mut response = answer.unwrap_or_else(|problem| {
            problem.into_response(fallback, &self.gate.base_url, uri.path())
        });
        let headers = response.headers_mut();
        headers.insert(ALLOW, self.allow.clone());
        headers.entry(CONTENT_TYPE).or_insert_with(|| self.media_types[0].header());
        headers.append(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        self.gate.complete(asks, self.is_page(), &mut response);
        Ok(response)
    }
}
