//! `/openapi.json` and `/docs`: the document, and Swagger UI with every asset embedded. Beside them
//! what is served as it is: the JSON Schema of rule files, and the icon.
//!
//! The document lists the business rules of each operation, so it is made anew when those have
//! changed.

use std::sync::{Arc, Mutex, PoisonError};

use application::{Caller, RuleCatalog};
use bytes::Bytes;
use poem::http::HeaderValue;
use poem::http::header::CONTENT_SECURITY_POLICY;
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::{LicenseObject, OpenApiService, ServerObject};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::endpoints::content;
use crate::headers::content_security_policy;
use crate::headers::entity_tag::EntityTag;
use crate::headers::media_type::MediaType;
use crate::openapi::{self, Documented};

/// The document without rules, and what of it is served now.
pub struct Documentation {
    catalog: RuleCatalog,
    base_url: Arc<BaseUrl>,
    document: Value,
    /// Swagger UI around a document, and that document.
    swagger_ui: (String, String),
    current: Mutex<Option<Edition>>,
}

/// The document with the rules of one edition.
#[derive(Clone)]
struct Edition {
    number: u64,
    openapi: CachedBody,
    swagger_ui: CachedBody,
}

#[derive(Clone)]
struct CachedBody {
    body: Bytes,
    tag: EntityTag,
    policy: HeaderValue,
}

impl CachedBody {
    fn new(body: impl Into<Bytes>, policy: HeaderValue) -> Self {
        let body = body.into();
        Self { tag: EntityTag::of_content(&body), body, policy }
    }
}

impl Documentation {
    /// The documentation of the service at `base_url`.
    pub fn new(base_url: Arc<BaseUrl>, catalog: RuleCatalog) -> Self {
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
        let written = service.spec();
        let document = openapi::finish(&written, &base_url);
        let swagger_ui = (service.swagger_ui_html(), written);
        Self { catalog, base_url, document, swagger_ui, current: Mutex::new(None) }
    }

    /// The document as it is served now.
    pub fn openapi(&self) -> String {
        pretty(&self.document_with_rules())
    }

    fn document_with_rules(&self) -> Value {
        let mut document = self.document.clone();
        openapi::add_rules(&mut document, &self.base_url, &self.catalog.list(&Caller::Anonymous));
        document
    }

    fn current(&self) -> Edition {
        let number = self.catalog.edition(&Caller::Anonymous);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(edition) if edition.number == number => edition.clone(),
            _ => current.insert(self.edition(number)).clone(),
        }
    }

    fn edition(&self, number: u64) -> Edition {
        let mut document = self.document_with_rules();
        let openapi = CachedBody::new(pretty(&document), NOTHING);
        // What is tried out goes to the host that the page came from.
        document["servers"][0]["url"] = self.base_url.path().into();
        // Swagger UI comes from poem-openapi with every asset embedded. The document stands in a
        // script: no `<` may end it.
        let (page, written) = &self.swagger_ui;
        let page = page.replacen(written, &pretty(&document).replace('<', "\\u003c"), 1);
        let policy = content_security_policy::of(&page, "font-src data:; connect-src 'self'; ");
        Edition { number, openapi, swagger_ui: CachedBody::new(page, policy) }
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
    /// Swagger UI.
    SwaggerUi(Arc<Documentation>),
    /// The JSON Schema of rule files.
    RuleSchema(Bytes),
    /// The icon that browsers show beside the title of a page.
    Icon,
}

const ICON: &[u8] = include_bytes!("favicon.ico");

/// The policy of what is no page.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'");

impl Endpoint for Served {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let (media, CachedBody { body, tag, policy }) = match self {
            Self::OpenApi(documentation) => (MediaType::JSON, documentation.current().openapi),
            Self::SwaggerUi(documentation) => (MediaType::HTML, documentation.current().swagger_ui),
            Self::RuleSchema(schema) => (MediaType::JSON, CachedBody::new(schema.clone(), NOTHING)),
            Self::Icon => (MediaType::ICON, CachedBody::new(ICON, NOTHING)),
        };
        let mut response = content::answer_tagged(&request, media.header(), &tag, body)?;
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        Ok(response)
    }
}
