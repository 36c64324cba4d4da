//! All routes, put together.

use std::sync::Arc;
use std::time::Duration;

use application::{
    ChangeLog, ChangeService, Ports, ResourceLimits, RuleBook, RuleCatalog, RuleTrialService,
    resource_use_cases,
};
use jiff::SignedDuration;
use poem::endpoint::BoxEndpoint;
use poem::http::{HeaderValue, Method};
use poem::{Endpoint, EndpointExt, Response, Route};
use tokio::sync::{Semaphore, watch};

use crate::base_url::BaseUrl;
use crate::endpoints::change_feed::ChangeFeed;
use crate::endpoints::change_stream::ChangeStream;
use crate::endpoints::changes::Changes;
use crate::endpoints::documentation::{Documentation, Served};
use crate::endpoints::entry_point::EntryPoint;
use crate::endpoints::health::{Health, Ready};
use crate::endpoints::problem_pages;
use crate::endpoints::resources::{GroupEndpoint, HttpContext};
use crate::endpoints::rule_trials::RuleTrials;
use crate::endpoints::rules::Rules;
use crate::explorer::{ExploredGroup, Explorer};
use crate::groups::{GROUPS, PathForm};
use crate::headers::media_type::MediaType;
use crate::links::{
    CHANGE_STREAM, CHANGES, HEALTH, READINESS, RULE, RULE_SCHEMA, RULE_TRIAL, RULES,
};
use crate::middleware::cors::Cors;
use crate::middleware::method_router::MethodRouter;
use crate::middleware::request_context::RequestContext;
use crate::request::body::BodyReader;
use crate::request::memory_budget::MemoryBudget;

/// The memory that all large responses may take until they are sent.
const RESPONSE_BUDGET_MIB: u16 = 32;

/// The memory that all versions being compared may take.
const COMPARISON_BUDGET_MIB: u16 = 32;

/// The settings of an operator.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The root of all links.
    pub base_url: BaseUrl,
    /// Most bytes of a request body.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long a use case may take.
    pub request_timeout: Duration,
    /// True if PUT, PATCH and DELETE need a condition.
    pub requires_condition: bool,
    /// How long a request is remembered by its Idempotency-Key.
    pub key_lifetime: SignedDuration,
    /// Streams of changes open at a time.
    pub max_streams: u32,
    /// How long a stream of changes lasts.
    pub stream_max_age: Duration,
    /// True when the service is about to stop: it still serves, and is not ready.
    pub is_leaving: watch::Receiver<bool>,
    /// Origins whose pages may call the service from a browser; none by default.
    pub cors_origins: Vec<HeaderValue>,
    /// The JSON Schema of rule files.
    pub rule_schema: String,
}

/// The whole service as one endpoint, to be given to [`crate::serve`].
#[must_use]
pub fn service(ports: &Ports, options: HttpOptions) -> impl Endpoint<Output = Response> + 'static {
    let base_url = Arc::new(options.base_url);
    let context = Arc::new(HttpContext {
        base_url: Arc::clone(&base_url),
        log: ChangeService::new(Arc::clone(&ports.changes)),
        bodies: BodyReader::new(options.max_body, options.body_timeout),
        responses: MemoryBudget::of_mib(RESPONSE_BUDGET_MIB),
        comparisons: MemoryBudget::of_mib(COMPARISON_BUDGET_MIB),
        time_limit: options.request_timeout,
        requires_condition: options.requires_condition,
    });
    let mut routes = Route::new();
    let limits = ResourceLimits { largest: options.max_body, key_lifetime: options.key_lifetime };
    let ready = Ready { store: Arc::clone(&ports.readiness), is_leaving: options.is_leaving };
    let stream = ChangeStream {
        feed: ChangeFeed::new(ChangeService::new(Arc::clone(&ports.changes))),
        base_url: Arc::clone(&base_url),
        permits: Arc::new(Semaphore::new(options.max_streams as usize)),
        max_age: options.stream_max_age,
        time_limit: options.request_timeout,
    };
    let mut groups = Vec::new();
    for group in GROUPS {
        let service = resource_use_cases(group.collection, ports, limits);
        if !group.is_nested() {
            groups.push(ExploredGroup { group, service: Arc::clone(&service) });
        }
        let endpoint = GroupEndpoint::new(group, service, Arc::clone(&context));
        for form in PathForm::ALL {
            let (types, methods) = (group.response_types(), endpoint.methods(form));
            let by_method = MethodRouter::new(Arc::clone(&base_url), types, methods);
            routes = routes.at(group.path_of(form), by_method);
        }
    }
    let catalog = RuleCatalog::new(Arc::clone(&ports.rules));
    let store = Arc::clone(&ports.readiness);
    let explorer = Explorer::new(Arc::clone(&context), groups, catalog.clone(), store);
    let trials = RuleTrialService::new(Arc::clone(&ports.trials), Arc::clone(&ports.clock));
    let changes = &ports.changes;
    let own_paths = OwnPaths { context: &context, catalog, explorer, changes, trials };
    for (path, endpoint) in own_paths.all(stream, ready, options.rule_schema) {
        routes = routes.at(path, endpoint);
    }
    RequestContext::new(routes, base_url, Arc::clone(&ports.ids), Cors::new(options.cors_origins))
}

/// The paths that belong to no group.
struct OwnPaths<'a> {
    context: &'a Arc<HttpContext>,
    catalog: RuleCatalog,
    explorer: Arc<Explorer>,
    changes: &'a Arc<dyn ChangeLog>,
    trials: RuleTrialService,
}

impl OwnPaths<'_> {
    fn all(
        self,
        stream: ChangeStream,
        ready: Ready,
        rule_schema: String,
    ) -> Vec<(String, MethodRouter)> {
        let Self { context, catalog, explorer, changes, trials } = self;
        let base_url = || Arc::clone(&context.base_url);
        let service = ChangeService::new(Arc::clone(changes));
        let changes = Changes { service, base_url: base_url(), time_limit: context.time_limit };
        let rules = || {
            let (catalog, explorer) = (catalog.clone(), Arc::clone(&explorer));
            Rules { catalog, base_url: base_url(), explorer }.boxed()
        };
        let trials = RuleTrials { service: trials, context: Arc::clone(context) };
        let post = |endpoint: BoxEndpoint<'static>| {
            let types = vec![MediaType::HAL, MediaType::JSON];
            MethodRouter::new(base_url(), types, [(Method::POST, endpoint)])
        };
        let documentation = Arc::new(Documentation::new(base_url(), catalog.clone()));
        let (document, page) = (Arc::clone(&documentation), documentation);
        let page_of = |endpoint| problem_pages::get(&context.base_url, endpoint);
        let get = |types: &[MediaType], endpoint: BoxEndpoint<'static>| {
            MethodRouter::new(base_url(), types.to_vec(), [(Method::GET, endpoint)])
        };
        // These have one representation each, so there is nothing to negotiate.
        let fixed = |kind: MediaType, endpoint: BoxEndpoint<'static>| {
            MethodRouter::unnegotiated(base_url(), kind, [(Method::GET, endpoint)])
        };
        let entry_point = EntryPoint::new(&context.base_url, explorer.overview().boxed());
        let paths = [
            ("/", page_of(entry_point.boxed())),
            (CHANGES, get(&[MediaType::HAL, MediaType::JSON], changes.boxed())),
            (CHANGE_STREAM, get(&[MediaType::EVENT_STREAM], stream.boxed())),
            (HEALTH, get(&[MediaType::JSON], Health.boxed())),
            (READINESS, get(&[MediaType::JSON], ready.boxed())),
            (RULES, get(&[MediaType::HAL, MediaType::JSON], rules())),
            (RULE, page_of(rules())),
            (RULE_TRIAL, post(trials.boxed())),
            ("/openapi.json", fixed(MediaType::JSON, Served::OpenApi(document).boxed())),
            (RULE_SCHEMA, fixed(MediaType::JSON, Served::RuleSchema(rule_schema.into()).boxed())),
            ("/favicon.ico", fixed(MediaType::ICON, Served::Icon.boxed())),
            ("/docs", fixed(MediaType::HTML, Served::SwaggerUi(page).boxed())),
        ];
        let paths = paths.into_iter().map(|(path, router)| (path.to_owned(), router));
        let explained = problem_pages::all(&context.base_url, &explorer).unwrap_or_default();
        explained.into_iter().chain(paths).chain(explorer.routes()).collect()
    }
}

/// The `OpenAPI` document of a service reached at `base_url` with these rules, as `/openapi.json`
/// serves it.
#[must_use]
pub fn openapi_document(base_url: BaseUrl, rules: Arc<dyn RuleBook>) -> String {
    Documentation::new(Arc::new(base_url), RuleCatalog::new(rules)).openapi()
}
