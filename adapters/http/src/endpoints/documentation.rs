//! `/openapi.json`, rebuilt when rules, policies, issuers or labels change, and static files.

use parking_lot::Mutex;
use std::sync::Arc;

use application::{AccessControl, Caller, Identity, Labels, PublishedIdentity, RuleCatalog};
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
use crate::problem::Result;

#[derive(Clone)]
pub struct Changing {
    pub catalog: RuleCatalog,
    pub access: AccessControl,
    /// `None` without authentication.
    pub identity: Option<Arc<dyn Identity>>,
    pub labels: Arc<dyn Labels>,
}

pub struct Documentation {
    changing: Changing,
    /// The document is the same for all callers, so rules are listed for this one.
    own: Caller,
    base_url: Arc<BaseUrl>,
    pub document: Value,
    current: Mutex<Option<(Edition, Arc<StaticContent>)>>,
}

/// The editions of the rules, the policies and the labels, and the published identity.
type Edition = (u64, u64, u64, Option<Arc<PublishedIdentity>>);

impl Documentation {
    pub fn new(base_url: Arc<BaseUrl>, changing: Changing) -> Self {
        let service =
            OpenApiService::new(Documented, "Research Proposal Service", env!("CARGO_PKG_VERSION"))
                .description(include_str!("../openapi/description.md"))
                // Absolute, because tools that read the document from a file know no other host.
                .server(ServerObject::new(base_url.as_str()).description("This service"))
                .license(
                    LicenseObject::new("MIT OR Apache-2.0")
                        .url("https://opensource.org/license/mit"),
                );
        let document = openapi::finish(&service.spec(), &base_url);
        let own = Caller::service("documentation");
        Self { changing, own, base_url, document, current: Mutex::new(None) }
    }

    pub fn openapi(&self) -> String {
        let Changing { catalog, access, identity, labels } = &self.changing;
        let mut document = self.document.clone();
        openapi::add_labels(&mut document, &labels.in_force());
        openapi::add_rules(&mut document, &self.base_url, &catalog.list(&self.own));
        if let Some(identity) = identity {
            let (published, policies) = (identity.published(), access.published());
            openapi::add_security(&mut document, &published, &policies);
        }
        format!("{document:#}\n")
    }

    fn edition(&self) -> Edition {
        let Changing { catalog, access, identity, labels } = &self.changing;
        let published = identity.as_ref().map(|identity| identity.published());
        (catalog.edition(&self.own), access.edition(), labels.edition(), published)
    }

    pub async fn answer(self: Arc<Self>, request: Request) -> Result<Response> {
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

pub struct StaticContent {
    pub media: MediaType,
    body: Bytes,
    tag: EntityTag,
    policy: HeaderValue,
}

pub const ICON: &[u8] = include_bytes!("favicon.ico");

pub const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'");

impl StaticContent {
    pub fn new(media: MediaType, body: impl Into<Bytes>, policy: HeaderValue) -> Self {
        let body = body.into();
        Self { media, tag: EntityTag::of_content(&body), body, policy }
    }
}

pub async fn static_content(content: Arc<StaticContent>, request: Request) -> Result<Response> {
    let StaticContent { media, body, tag, policy } = &*content;
    let mut response = content::answer_tagged(&request, media.header(), tag, body.clone())?;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy.clone());
    Ok(response)
}
