//! `/openapi.json`, which lists the business rules and policies of each operation and so is made anew
//! when those have changed. Beside it what is served as it is: the JSON Schema of rule files, the icon, and
//! pages that change only with the program.

use parking_lot::Mutex;
use std::sync::Arc;

use application::{AccessControl, Caller, Identity, PublishedIdentity, RuleCatalog};
use bytes::Bytes;
use poem::http::HeaderValue;
use poem::http::header::CONTENT_SECURITY_POLICY;
use poem::{Request, Response};
use poem_openapi::{LicenseObject, OpenApiService, ServerObject};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::openapi::{self, Documented};
use crate::problem::Problem;

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
    current: Mutex<Option<(Edition, Arc<StaticContent>)>>,
}

/// The editions of the rules and the policies, and what is published of identity.
type Edition = (u64, u64, Option<Arc<PublishedIdentity>>);

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

    fn edition(&self) -> Edition {
        let Changing { catalog, access, identity } = &self.changing;
        let published = identity.as_ref().map(|identity| identity.published());
        (catalog.edition(&self.own), access.edition(), published)
    }

    /// Serves the document.
    pub async fn answer(self: Arc<Self>, request: Request) -> Result<Response, Problem> {
        static_content(self.current(), request).await
    }

    fn current(&self) -> Arc<StaticContent> {
        let edition = self.edition();
        let mut current = self.current.lock();
        match &*current {
            Some((known, content)) if *known == edition => Arc::clone(content),
            _ => {
                let content = StaticContent::new(MediaType::JSON, self.openapi(), NOTHING);
                Arc::clone(&current.insert((edition, Arc::new(content))).1)
            }
        }
    }
}

/// A resource that is served as it is, with its Content-Security-Policy.
pub struct StaticContent {
    pub media: MediaType,
    body: Bytes,
    tag: EntityTag,
    policy: HeaderValue,
}

/// The icon that browsers show beside the title of a page.
pub const ICON: &[u8] = include_bytes!("favicon.ico");

/// The policy of what is no page.
pub const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'");

impl StaticContent {
    pub fn new(media: MediaType, body: impl Into<Bytes>, policy: HeaderValue) -> Self {
        let body = body.into();
        Self { media, tag: EntityTag::of_content(&body), body, policy }
    }
}

/// Serves a resource as it is.
pub async fn static_content(
    content: Arc<StaticContent>,
    request: Request,
) -> Result<Response, Problem> {
    let StaticContent { media, body, tag, policy } = &*content;
    let mut response = content::answer_tagged(&request, media.header(), tag, body.clone())?;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
    Ok(response)
}
