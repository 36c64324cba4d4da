//! `/openapi.json` and `/docs`: the document, and Swagger UI with every asset embedded.
//!
//! The document lists the business rules of each operation, so it is made anew when those have
//! changed.

use std::sync::{Arc, Mutex, PoisonError};

use application::{Caller, RuleCatalog};
use bytes::Bytes;
use poem::http::StatusCode;
use poem::http::header::{CONTENT_SECURITY_POLICY, ETAG};
use poem::{Endpoint, Request, Response, Result};
use poem_openapi::{LicenseObject, OpenApi, OpenApiService};
use serde_json::Value;

use crate::base_url::BaseUrl;
use crate::entity_tag::EntityTag;
use crate::openapi;

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
    openapi: Text,
    swagger_ui: Text,
}

#[derive(Clone)]
struct Text {
    text: Bytes,
    tag: EntityTag,
}

impl Text {
    fn new(text: String) -> Self {
        Self { tag: EntityTag::of_content(text.as_bytes()), text: text.into() }
    }
}

impl Documentation {
    /// The documentation of `api` at `base_url`.
    #[must_use]
    pub fn new(api: impl OpenApi, base_url: Arc<BaseUrl>, catalog: RuleCatalog) -> Self {
        let service =
            OpenApiService::new(api, "Research Proposal Service", env!("CARGO_PKG_VERSION"))
                .description(include_str!("openapi/description.md"))
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
    #[must_use]
    pub fn openapi(&self) -> String {
        let mut document = self.document.clone();
        openapi::add_rules(&mut document, &self.base_url, &self.catalog.list(&Caller::Anonymous));
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        text
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
        let openapi = self.openapi();
        // Swagger UI comes from poem-openapi with every asset embedded. The document stands in a
        // script: no `<` may end it.
        let (page, written) = &self.swagger_ui;
        let swagger_ui = page.replacen(written, &openapi.replace('<', "\\u003c"), 1);
        Edition { number, openapi: Text::new(openapi), swagger_ui: Text::new(swagger_ui) }
    }
}

/// One of the texts.
pub enum Served {
    /// The document.
    OpenApi(Arc<Documentation>),
    /// Swagger UI.
    SwaggerUi(Arc<Documentation>),
}

/// Scripts and styles are inline, pictures are data; nothing else may be loaded, and requests go to
/// the service only.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self'; font-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Endpoint for Served {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let (content_type, Text { text, tag }) = match self {
            Self::OpenApi(documentation) => ("application/json", documentation.current().openapi),
            Self::SwaggerUi(documentation) => {
                ("text/html; charset=utf-8", documentation.current().swagger_ui)
            }
        };
        let response = Response::builder().content_type(content_type);
        if let Some(known) = tag.known_to(request.headers())? {
            return Ok(response
                .status(StatusCode::NOT_MODIFIED)
                .header(ETAG, known.header())
                .finish());
        }
        Ok(response.header(ETAG, tag.header()).header(CONTENT_SECURITY_POLICY, POLICY).body(text))
    }
}
