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
#[derive(Clone)]
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
    current: Mutex<Option<Edition>>,
}

/// The document with all that changes, as it is in one edition.
#[derive(Clone)]
struct Edition {
    of: EditionKey,
    openapi: CachedBody,
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
        pretty(&self.whole_document())
    }

    fn whole_document(&self) -> Value {
        let Changing { catalog, access, identity } = &self.changing;
        let mut document = self.document.clone();
        openapi::add_rules(&mut document, &self.base_url, &catalog.list(&self.own));
        if let Some(identity) = identity {
            let (published, policies) = (identity.published(), access.published());
            openapi::add_security(&mut document, &published, &policies);
        }
        document
    }

    fn key(&self) -> EditionKey {
        let Changing { catalog, access, identity } = &self.changing;
        let published = identity.as_ref().map(|identity| identity.published());
        (catalog.edition(&self.own), access.edition(), published)
    }

    fn current(&self) -> Edition {
        let key = self.key();
        let mut current = self.current.lock();
        match &*current {
            Some(edition) if edition.of == key => edition.clone(),
            _ => current.insert(self.edition(key)).clone(),
        }
    }

    fn edition(&self, of: EditionKey) -> Edition {
        Edition { of, openapi: CachedBody::new(self.openapi()) }
    }
}

fn pretty(document: &Value) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
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
            Self::OpenApi(documentation) => {
                (MediaType::JSON, documentation.current().openapi, NOTHING)
            }
            Self::RuleSchema(schema) => (MediaType::JSON, CachedBody::new(schema.clone()), NOTHING),
            Self::Icon => (MediaType::ICON, CachedBody::new(ICON), NOTHING),
            Self::Page(page, policy) => (MediaType::HTML, page.clone(), policy.clone()),
        };
        let mut response = content::answer_tagged(&request, media.header(), &tag, body)?;
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        Ok(response)
    }
}
