//! The paths that belong to no group.

use std::sync::Arc;

use application::RuleTrialService;
use poem::EndpointExt;
use poem::endpoint::BoxEndpoint;
use poem::http::Method;

use crate::base_url::BaseUrl;
use crate::endpoints::access::{Evaluation, OwnAccess};
use crate::endpoints::change_stream::ChangeStream;
use crate::endpoints::changes::Changes;
use crate::endpoints::documentation::{Changing, Documentation, Served};
use crate::endpoints::entry_point::EntryPoint;
use crate::endpoints::health::{Health, Ready};
use crate::endpoints::identity::{self, IdentityDocument};
use crate::endpoints::policies::Policies;
use crate::endpoints::problem_pages;
use crate::endpoints::resources::HttpContext;
use crate::endpoints::rule_trials::RuleTrials;
use crate::endpoints::rules::Rules;
use crate::explorer::{ExploredGroup, Explorer};
use crate::headers::media_type::MediaType;
use crate::links::{
    ACCESS, CHANGE_STREAM, CHANGES, EVALUATION, HEALTH, POLICIES, POLICY, PROTECTED_RESOURCE,
    READINESS, RULE, RULE_SCHEMA, RULE_TRIAL, RULES, SIGN_IN,
};
use crate::middleware::gate::Asks;
use crate::middleware::method_router::MethodRouter;

/// The types of the service's own representations.
const HAL: [MediaType; 2] = [MediaType::HAL, MediaType::JSON];

/// A path and what serves it.
type Route = (String, MethodRouter);

/// Makes the paths.
pub struct OwnPaths<'a> {
    pub context: &'a Arc<HttpContext>,
    pub changing: Changing,
    pub explorer: Arc<Explorer>,
    pub trials: RuleTrialService,
    /// The groups that show whole collections.
    pub groups: Arc<[ExploredGroup]>,
}

impl OwnPaths<'_> {
    pub fn all(self, stream: ChangeStream, ready: Ready, rule_schema: String) -> Vec<Route> {
        let changes = Changes {
            service: self.context.log.clone(),
            base_url: self.base_url(),
            time_limit: self.context.time_limit,
        };
        let entry_point = EntryPoint::new(&self.context.base_url, self.explorer.overview().boxed());
        let documentation = Arc::new(Documentation::new(self.base_url(), self.changing.clone()));
        let pages = self.explorer.documentation(documentation.document()).unwrap_or_default();
        let own = [
            ("/", self.page(Asks::Anybody, entry_point.boxed())),
            (CHANGES, self.get(&HAL, Asks::SomeRead, changes.boxed())),
            (CHANGE_STREAM, self.get(&[MediaType::EVENT_STREAM], Asks::SomeRead, stream.boxed())),
            (HEALTH, self.get(&[MediaType::JSON], Asks::Nothing, Health.boxed())),
            (READINESS, self.get(&[MediaType::JSON], Asks::Nothing, ready.boxed())),
            ("/openapi.json", self.public(MediaType::JSON, Served::OpenApi(documentation).boxed())),
            (
                RULE_SCHEMA,
                self.public(MediaType::JSON, Served::RuleSchema(rule_schema.into()).boxed()),
            ),
            ("/favicon.ico", self.public(MediaType::ICON, Served::Icon.boxed())),
        ];
        let pages = pages.into_iter().map(|page| {
            (page.path, self.public(MediaType::HTML, Served::page(page.html, page.policy).boxed()))
        });
        let own = own.into_iter().chain(self.of_rules()).chain(self.of_access());
        let own = own.map(|(path, router)| (path.to_owned(), router)).chain(pages);
        let explained = problem_pages::all(&self.context.gate, &self.explorer);
        explained.unwrap_or_default().into_iter().chain(own).chain(self.explorer.routes()).collect()
    }

    fn of_rules(&self) -> [(&'static str, MethodRouter); 3] {
        let rules = || {
            let (catalog, explorer) = (self.changing.catalog.clone(), Arc::clone(&self.explorer));
            Rules { catalog, base_url: self.base_url(), explorer }.boxed()
        };
        let service = self.trials.clone();
        let trials = RuleTrials { service, context: Arc::clone(self.context) };
        [
            (RULES, self.get(&HAL, Asks::Nothing, rules())),
            (RULE, self.page(Asks::Anybody, rules())),
            (RULE_TRIAL, self.post(Asks::SignedIn, trials.boxed())),
        ]
    }

    /// Who may do what, and where clients get tokens.
    fn of_access(&self) -> [(&'static str, MethodRouter); 6] {
        let access = || self.changing.access.clone();
        let policies = || Policies { access: access(), base_url: self.base_url() }.boxed();
        let own_access = OwnAccess { access: access(), context: Arc::clone(self.context) };
        let (groups, context) = (Arc::clone(&self.groups), Arc::clone(self.context));
        let evaluation = Evaluation { access: access(), groups, context };
        let published = |write| {
            let (identity, base_url) = (self.changing.identity.clone(), self.base_url());
            IdentityDocument { identity, base_url, write }.boxed()
        };
        let protected = published(identity::protected_resource);
        [
            (POLICIES, self.get(&HAL, Asks::Nothing, policies())),
            (POLICY, self.get(&HAL, Asks::Nothing, policies())),
            (ACCESS, self.get(&HAL, Asks::Anybody, own_access.boxed())),
            (EVALUATION, self.post(Asks::SignedIn, evaluation.boxed())),
            (PROTECTED_RESOURCE, self.get(&[MediaType::JSON], Asks::Nothing, protected)),
            (SIGN_IN, self.public(MediaType::JSON, published(identity::sign_in))),
        ]
    }

    fn base_url(&self) -> Arc<BaseUrl> {
        Arc::clone(&self.context.base_url)
    }

    fn get(&self, types: &[MediaType], asks: Asks, endpoint: BoxEndpoint<'static>) -> MethodRouter {
        MethodRouter::new(&self.context.gate, types.to_vec(), [(Method::GET, asks, endpoint)])
    }

    fn post(&self, asks: Asks, endpoint: BoxEndpoint<'static>) -> MethodRouter {
        let methods = [(Method::POST, asks, endpoint)];
        MethodRouter::new(&self.context.gate, HAL.to_vec(), methods)
    }

    /// A path that is a page for people, too.
    fn page(&self, asks: Asks, endpoint: BoxEndpoint<'static>) -> MethodRouter {
        problem_pages::get(&self.context.gate, asks, endpoint)
    }

    /// A path with one representation, so that there is nothing to negotiate, for everybody.
    fn public(&self, kind: MediaType, endpoint: BoxEndpoint<'static>) -> MethodRouter {
        let methods = [(Method::GET, Asks::Nothing, endpoint)];
        MethodRouter::unnegotiated(&self.context.gate, kind, methods)
    }
}
