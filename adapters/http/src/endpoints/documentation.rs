//! `/openapi.json`, which lists the business rules and policies of each operation and so is made anew
//! when those have changed. Beside it what is served as it is: the JSON Schema of rule files, the icon, and
//! pages that change only with the program.

use parking_lot::Mutex;
use std::sync::Arc;

use application::{AccessControl, Caller, Identity, PublishedIdentity, RuleCatalog};
use bytes::Bytes;
use poem::http::HeaderValue;
use poem::http::header::CONTENT_SECURITY_POLICY;
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::{LicenseObject, OpenApiService, ServerObject};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::openapi::{self, Documented};

/// The parts of the document that change while the service runs.
pub struct Changing {
    /// The rules in force.
    pub catalog: RuleCatalog,
    /// The policies in force.
    pub access: AccessControl,
    /// The issuers, where callers are asked who they are.
    pub identity: Option<Arc<dyn Identity>>,
}

/// The document without what changes, and what of it is served now.
pub struct Documentation {
    changing: Changing,
    /// On whose behalf the rules are listed: the document is the same for all callers.
    own: Caller,
    base_url: Arc<BaseUrl>,
    document: Value,
    /// The document with all that changes, and the editions that it is of.
    current: Mutex<Option<(EditionKey, CachedBody)>>,
}

/// The editions of the rules and the policies, and what is published of identity.
type EditionKey = (u64, u64, Option<Arc<PublishedIdentity>>);

/// A body with its tag.
#[derive(Clone)]
pub struct CachedBody {
    body: Bytes,
    tag: EntityTag,
}

impl CachedBody {
    fn new(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self { tag: EntityTag::of_content(&body), body }
    }
}

impl Documentation {
    /// The documentation of the service at `base_url`.
    pub fn new(base_url: Arc<BaseUrl>, changing: Changing) -> Self {
        let service =
            OpenApiService::new(Documented, "Research Proposal Service", env!("CARGO_PKG_VERSION"))
                .description(include_str!("../openapi/description.md"))
                // Absolute: tools that take the document from a file have no other host to send
                // requests to.
                .server(ServerObject::new(base_url.as_str()).description("This service"))
                .license(
                    LicenseObject::new("MIT OR Apache-2.0")
                        .url("https://opensource.org/license/mit"),
                );
        let document = openapi::finish(&service.spec(), &base_url);
        let own = Caller::service("documentation");
        Self { changing, own, base_url, document, current: Mutex::new(None) }
    }

    /// The document without what changes.
    pub const fn document(&self) -> &Value {
        &self.document
    }

    /// The document as it is served now.
    pub fn openapi(&self) -> String {
        let Changing { catalog, access, identity } = &self.changing;
        let mut document = self.document.clone();
        openapi::add_rules(&mut document, &self.base_url, &catalog.list(&self.own));
        if let Some(identity) = identity {
            let (published, policies) = (identity.published(), access.published());
            openapi::add_security(&mut document, &published, &policies);
        }
        format!("{document:#}\n")
    }

    fn key(&self) -> EditionKey {
        let Changing { catalog, access, identity } = &self.changing;
        let published = identity.as_ref().map(|identity| identity.published());
        (catalog.edition(&self.own), access.edition(), published)
    }

    fn current(&self) -> CachedBody {
        let key = self.key();
        let mut current = self.current.lock();
        match &*current {
            Some((of, body)) if *of == key => body.clone(),
            _ => current.insert((key, CachedBody::new(self.openapi()))).1.clone(),
        }
    }
}

/// A resource that is served as it is.
pub enum Served {
    /// The document.
    OpenApi(Arc<Documentation>),
    /// The JSON Schema of rule files.
    RuleSchema(Bytes),
    /// The icon that browsers show beside the title of a page.
    Icon,
    /// A page, and its Content-Security-Policy.
    Page(CachedBody, HeaderValue),
}

const ICON: &[u8] = include_bytes!("favicon.ico");

/// The policy of what is no page.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'");

impl Served {
    /// A page that changes only with the program.
    pub fn page(html: String, policy: HeaderValue) -> Self {
        Self::Page(CachedBody::new(html), policy)
    }
}

impl Endpoint for Served {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let (media, CachedBody { body, tag }, policy) = match self {
            Self::OpenApi(documentation) => (MediaType::JSON, documentation.current(), NOTHING),
            Self::RuleSchema(schema) => (MediaType::JSON, CachedBody::new(schema.clone()), NOTHING),
            Self::Icon => (MediaType::ICON, CachedBody::new(ICON), NOTHING),
            Self::Page(page, policy) => (MediaType::HTML, page.clone(), policy.clone()),
        };
        let mut response = content::answer_tagged(&request, media.header(), &tag, body)?;
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        Ok(response)
    }
}
