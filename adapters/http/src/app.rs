//! All routes, put together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use application::table::FORMATS;
use application::{
    AccessControl, ChangeService, Clock, Identity, NoPolicies, Ports, ResourceLimits,
    ResourceUseCases, RuleBook, RuleCatalog, RuleTrialService, resource_use_cases,
};
use domain::{Collection, Operation as Permission};
use jiff::SignedDuration;
use poem::endpoint::BoxEndpoint;
use poem::http::{HeaderValue, Method};
use poem::{Endpoint, EndpointExt, Response, Route};
use tokio::sync::{Semaphore, watch};

use crate::base_url::BaseUrl;
use crate::endpoints::access::{Evaluation, OwnAccess};
use crate::endpoints::change_feed::ChangeFeed;
use crate::endpoints::change_stream::ChangeStream;
use crate::endpoints::changes::Changes;
use crate::endpoints::documentation::{Changing, Documentation, Served};
use crate::endpoints::entry_point::EntryPoint;
use crate::endpoints::exports::{EXPORTS_AT_WORK, ExportResources, Exports, MOST_EXPORTS};
use crate::endpoints::health::{Health, Ready};
use crate::endpoints::imports::{ImportResources, Imports};
use crate::endpoints::policies::Policies;
use crate::endpoints::problem_pages;
use crate::endpoints::protected_resource::ProtectedResource;
use crate::endpoints::resources::{GroupEndpoint, HttpContext};
use crate::endpoints::rule_trials::RuleTrials;
use crate::endpoints::rules::Rules;
use crate::explorer::{Deployment, ExploredGroup, Explorer};
use crate::groups::{GROUPS, Group, PathForm};
use crate::headers::media_type::MediaType;
use crate::links::{
    ACCESS, CHANGE_STREAM, CHANGES, EVALUATION, EXPORTS, HEALTH, IMPORTS, POLICIES, POLICY,
    PROTECTED_RESOURCE, READINESS, RULE, RULE_SCHEMA, RULE_TRIAL, RULES,
};
use crate::middleware::cors::Cors;
use crate::middleware::gate::{Asks, Gate};
use crate::middleware::method_router::MethodRouter;
use crate::middleware::rate_limit::{Network, Rate, RateLimits};
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
    /// Most bytes of an import, and of what it unpacks to.
    pub max_import: usize,
    /// The folder for temporary files.
    pub temp_dir: PathBuf,
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
    /// True if the operator wants that callers beyond this machine are not asked who they are.
    pub is_open_to_all: bool,
    /// How fast requests of one known caller may come.
    pub caller_rate: Option<Rate>,
    /// How fast requests from one address may come.
    pub address_rate: Option<Rate>,
    /// The proxies that are believed when they name a client's address.
    pub trusted_proxies: Vec<Network>,
    /// Origins whose pages may call the service from a browser; none by default.
    pub cors_origins: Vec<HeaderValue>,
    /// The JSON Schema of rule files.
    pub rule_schema: String,
    /// The program and its store.
    pub deployment: Deployment,
}

/// The whole service as one endpoint, to be given to [`crate::serve`].
#[must_use]
pub fn service(ports: &Ports, options: HttpOptions) -> impl Endpoint<Output = Response> + 'static {
    let base_url = Arc::new(options.base_url);
    let rates = RateLimits::new(options.caller_rate, options.address_rate, options.trusted_proxies);
    let gate = Arc::new(Gate::new(Arc::clone(&base_url), ports, rates));
    let access = AccessControl::new(Arc::clone(&ports.policies));
    let context = Arc::new(HttpContext {
        base_url: Arc::clone(&base_url),
        gate: Arc::clone(&gate),
        log: ChangeService::new(
            Arc::clone(&ports.changes),
            Arc::clone(&ports.callers),
            access.clone(),
        ),
        bodies: BodyReader::new(options.max_body, options.body_timeout),
        responses: MemoryBudget::of_mib(RESPONSE_BUDGET_MIB),
        comparisons: MemoryBudget::of_mib(COMPARISON_BUDGET_MIB),
        time_limit: options.request_timeout,
        requires_condition: options.requires_condition,
    });
    let mut routes = Route::new();
    let limits = ResourceLimits { largest: options.max_body, key_lifetime: options.key_lifetime };
    let ready = Ready {
        store: Arc::clone(&ports.readiness),
        is_leaving: options.is_leaving,
        is_open_to_all: options.is_open_to_all,
    };
    let stream = ChangeStream {
        feed: ChangeFeed::new(context.log.clone()),
        gate: Arc::clone(&gate),
        base_url: Arc::clone(&base_url),
        permits: Arc::new(Semaphore::new(options.max_streams as usize)),
        max_age: options.stream_max_age,
        time_limit: options.request_timeout,
    };
    let bodies = BodyReader::new(options.max_import, options.body_timeout);
    let transfers =
        Transfers::new(&context, &ports.clock, bodies, (options.max_import, options.temp_dir));
    let (mut groups, mut services) = (Vec::new(), Vec::new());
    for group in GROUPS {
        let service = resource_use_cases(group.collection, ports, limits);
        if !group.is_nested() {
            groups.push(ExploredGroup { group, service: Arc::clone(&service) });
            services.push((group.collection, Arc::clone(&service)));
            for (path, endpoint) in transfers.of(group, &service) {
                routes = routes.at(path, endpoint);
            }
        }
        let endpoint = GroupEndpoint::new(group, service, Arc::clone(&context));
        for form in PathForm::ALL {
            let (types, methods) = (group.response_types(), endpoint.methods(form));
            let by_method = MethodRouter::new(&gate, types, methods);
            routes = routes.at(group.path_of(form), by_method);
        }
    }
    let catalog = RuleCatalog::new(Arc::clone(&ports.rules));
    let store = Arc::clone(&ports.readiness);
    let explorer =
        Explorer::new(Arc::clone(&context), groups, catalog.clone(), store, options.deployment);
    let trials = RuleTrialService::new(Arc::clone(&ports.trials), Arc::clone(&ports.clock));
    let identity = ports.identity.clone();
    let own_paths =
        OwnPaths { context: &context, catalog, explorer, trials, access, identity, services };
    for (path, endpoint) in own_paths.all(stream, ready, options.rule_schema) {
        routes = routes.at(path, endpoint);
    }
    RequestContext::new(routes, base_url, Arc::clone(&ports.ids), Cors::new(options.cors_origins))
}

/// The exports and imports of the groups that show whole collections.
struct Transfers {
    exports: Arc<ExportResources>,
    imports: Arc<ImportResources>,
}

impl Transfers {
    /// Those with the largest size of an import, and the folder for temporary files.
    fn new(
        context: &Arc<HttpContext>,
        clock: &Arc<dyn Clock>,
        bodies: BodyReader,
        (most_bytes, folder): (usize, PathBuf),
    ) -> Self {
        let exports = ExportResources {
            context: Arc::clone(context),
            clock: Arc::clone(clock),
            permits: Arc::new(Semaphore::new(MOST_EXPORTS)),
            work: Arc::new(Semaphore::new(EXPORTS_AT_WORK)),
            folder,
        };
        let context = Arc::clone(context);
        let workbooks = Arc::new(Semaphore::new(1));
        let imports = ImportResources { context, bodies, workbooks, most_bytes };
        Self { exports: Arc::new(exports), imports: Arc::new(imports) }
    }

    fn of(&self, group: Group, service: &Arc<dyn ResourceUseCases>) -> Vec<(String, MethodRouter)> {
        let gate = &self.exports.context.gate;
        let name = group.collection.name();
        let (service, resources) = (Arc::clone(service), Arc::clone(&self.imports));
        let imports = Imports { group, service: Arc::clone(&service), resources };
        let types = vec![MediaType::JSON, MediaType::HAL];
        let asks = Asks::Operations(group, &[Permission::Create]);
        let imports = MethodRouter::new(gate, types, [(Method::POST, asks, imports.boxed())]);
        let exports = FORMATS.iter().filter(|format| format.is_exported).map(|format| {
            let (service, resources) = (Arc::clone(&service), Arc::clone(&self.exports));
            let endpoint = Exports { group, service, format, resources }.boxed();
            let asks = Asks::Operations(group, &[Permission::Read]);
            let methods = [(Method::GET, asks, endpoint)];
            let router = MethodRouter::unnegotiated(gate, MediaType::of_file(format), methods);
            (format!("{EXPORTS}/{name}.{}", format.extension), router)
        });
        exports.chain([(format!("{IMPORTS}/{name}"), imports)]).collect()
    }
}

/// The types of the service's own representations.
const HAL_TYPES: [MediaType; 2] = [MediaType::HAL, MediaType::JSON];

/// The paths that belong to no group.
struct OwnPaths<'a> {
    context: &'a Arc<HttpContext>,
    catalog: RuleCatalog,
    explorer: Arc<Explorer>,
    trials: RuleTrialService,
    access: AccessControl,
    identity: Option<Arc<dyn Identity>>,
    /// The use cases of every group that shows a whole collection.
    services: Vec<(Collection, Arc<dyn ResourceUseCases>)>,
}

impl OwnPaths<'_> {
    fn all(
        self,
        stream: ChangeStream,
        ready: Ready,
        rule_schema: String,
    ) -> Vec<(String, MethodRouter)> {
        let Self { context, catalog, explorer, trials, access, identity, services } = self;
        let (gate, base_url) = (&context.gate, || Arc::clone(&context.base_url));
        let service = context.log.clone();
        let changes = Changes { service, base_url: base_url(), time_limit: context.time_limit };
        let rules = || {
            let (catalog, explorer) = (catalog.clone(), Arc::clone(&explorer));
            Rules { catalog, base_url: base_url(), explorer }.boxed()
        };
        let policies = || Policies { access: access.clone(), base_url: base_url() }.boxed();
        let own_access = OwnAccess { access: access.clone(), context: Arc::clone(context) };
        let evaluation =
            Evaluation { access: access.clone(), services, context: Arc::clone(context) };
        let protected = ProtectedResource { identity: identity.clone(), base_url: base_url() };
        let trials = RuleTrials { service: trials, context: Arc::clone(context) };
        let post = |endpoint: BoxEndpoint<'static>| {
            let types = vec![MediaType::HAL, MediaType::JSON];
            MethodRouter::new(gate, types, [(Method::POST, Asks::SignedIn, endpoint)])
        };
        let changing = Changing {
            catalog: catalog.clone(),
            access: access.clone(),
            identity: identity.clone(),
        };
        let documentation = Arc::new(Documentation::new(base_url(), changing));
        let page_of = |endpoint| problem_pages::get(gate, Asks::Anybody, endpoint);
        let get = |types: &[MediaType], asks: Asks, endpoint: BoxEndpoint<'static>| {
            MethodRouter::new(gate, types.to_vec(), [(Method::GET, asks, endpoint)])
        };
        // These have one representation each, so there is nothing to negotiate.
        let fixed = |kind: MediaType, endpoint: BoxEndpoint<'static>| {
            MethodRouter::unnegotiated(gate, kind, [(Method::GET, Asks::Nothing, endpoint)])
        };
        let entry_point = EntryPoint::new(&context.base_url, explorer.overview().boxed());
        let paths = [
            ("/", page_of(entry_point.boxed())),
            (CHANGES, get(&HAL_TYPES, Asks::SomeRead, changes.boxed())),
            (CHANGE_STREAM, get(&[MediaType::EVENT_STREAM], Asks::SomeRead, stream.boxed())),
            (HEALTH, get(&[MediaType::JSON], Asks::Nothing, Health.boxed())),
            (READINESS, get(&[MediaType::JSON], Asks::Nothing, ready.boxed())),
            (RULES, get(&HAL_TYPES, Asks::Nothing, rules())),
            (RULE, page_of(rules())),
            (RULE_TRIAL, post(trials.boxed())),
            (POLICIES, get(&HAL_TYPES, Asks::Nothing, policies())),
            (POLICY, get(&HAL_TYPES, Asks::Nothing, policies())),
            (ACCESS, get(&HAL_TYPES, Asks::Anybody, own_access.boxed())),
            (EVALUATION, post(evaluation.boxed())),
            (PROTECTED_RESOURCE, get(&[MediaType::JSON], Asks::Nothing, protected.boxed())),
            (
                "/openapi.json",
                fixed(MediaType::JSON, Served::OpenApi(Arc::clone(&documentation)).boxed()),
            ),
            (RULE_SCHEMA, fixed(MediaType::JSON, Served::RuleSchema(rule_schema.into()).boxed())),
            ("/favicon.ico", fixed(MediaType::ICON, Served::Icon.boxed())),
        ];
        let paths = paths.into_iter().map(|(path, router)| (path.to_owned(), router));
        let explained = problem_pages::all(gate, &explorer).unwrap_or_default();
        let pages = explorer.documentation(documentation.document()).unwrap_or_default();
        let pages = pages.into_iter().map(|page| {
            let served = Served::page(page.html, page.policy);
            (page.path, fixed(MediaType::HTML, served.boxed()))
        });
        explained.into_iter().chain(paths).chain(pages).chain(explorer.routes()).collect()
    }
}

/// The `OpenAPI` document of a service reached at `base_url` with these rules, as `/openapi.json`
/// serves it.
#[must_use]
pub fn openapi_document(base_url: BaseUrl, rules: Arc<dyn RuleBook>) -> String {
    let access = AccessControl::new(Arc::new(NoPolicies::Open));
    let changing = Changing { catalog: RuleCatalog::new(rules), access, identity: None };
    Documentation::new(Arc::new(base_url), changing).openapi()
}
