//! The subjects of measurements: the service on a store, or a reference.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::arguments::{Arguments, Extra, Store};
use crate::callers;
use crate::collector;
use crate::database::Database;
use crate::load::Load;
use crate::process::Server;
use crate::program::program;
use crate::turn::{Measurement, Running};
use crate::work::{AnswerSizes, Bodies, Group, Requests, Work};

const SAMPLE: usize = 200;

const TWENTY_RULES: &str = include_str!("twenty_rules.yaml");

const ADMIN: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Service(Store),
    With(Extra, Store),
    Baseline(Store),
    Minimal(Store),
    Logged(Store),
    BareRoute,
}

pub(super) struct Subject {
    pub(super) kind: Kind,
    running: Running,
    requests: Requests,
    pub(super) memory_before: u64,
}

impl Kind {
    /// Returns whether it is the service, which puts off what it can.
    const fn is_service(self) -> bool {
        matches!(self, Self::Service(_) | Self::With(..) | Self::Baseline(_))
    }

    pub(super) fn title(self) -> String {
        let (name, store) = match self {
            Self::Service(store) => ("service", store),
            Self::With(extra, store) => {
                return format!("with {} on {}", extra.name(), store.title());
            }
            Self::Baseline(store) => ("baseline", store),
            Self::Minimal(store) => ("minimal axum", store),
            Self::Logged(store) => ("logged axum", store),
            Self::BareRoute => return "bare poem route".to_owned(),
        };
        format!("{name} on {}", store.title())
    }

    /// The bare route and, on the same store: the hand-written server, or the service without the
    /// option; the hand-written server with logs; and the other binary.
    pub(super) const fn references(self) -> [Option<Self>; 4] {
        let bare = Some(Self::BareRoute);
        match self {
            Self::Service(store) => {
                let logged = Some(Self::Logged(store));
                [bare, Some(Self::Minimal(store)), logged, Some(Self::Baseline(store))]
            }
            Self::With(_, store) => [bare, Some(Self::Service(store)), None, None],
            _ => [bare, None, None, None],
        }
    }

    pub(super) fn has(self, group: Group) -> bool {
        group == Group::Proposals || !matches!(self, Self::Minimal(_) | Self::Logged(_))
    }

    fn file(self) -> String {
        match self {
            Self::With(extra, _) => format!("with-{}", extra.name()),
            Self::Baseline(_) => "baseline".to_owned(),
            Self::Logged(_) => "logged".to_owned(),
            _ => self.program().to_owned(),
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Service(_) | Self::With(..) | Self::Baseline(_) => "proposal-service",
            Self::Minimal(_) | Self::Logged(_) => "minimal-axum",
            Self::BareRoute => "bare-poem",
        }
    }
}

impl Subject {
    pub(super) async fn on_store(
        kind: Kind,
        store: Store,
        arguments: &Arguments,
        bodies: Bodies,
        folder: &Path,
    ) -> Result<Self> {
        let program = match (kind, &arguments.baseline) {
            (Kind::Baseline(_), Some(binary)) => binary.clone(),
            _ => program(kind.program())?,
        };
        let database = if store == Store::Postgres { Some(Database::create()?) } else { None };
        let url = database
            .as_ref()
            .map_or_else(|| sqlite_url(folder, &kind.file()), |database| database.url().to_owned());
        let rules = folder.join("rules.yaml").display().to_string();
        let identity = folder.join("identity.json");
        let (file, mut tokens, collector) =
            (identity.display().to_string(), Vec::new(), collector::start().await?);
        let mut said = vec!["--database-url", &url];
        match kind {
            Kind::With(Extra::Rules, _) => {
                std::fs::write(&rules, TWENTY_RULES)?;
                said.extend(["--rules", &rules]);
            }
            Kind::With(Extra::Callers, _) => {
                tokens = callers::tokens(&identity)?;
                said.extend(["--identity", &file]);
            }
            Kind::With(Extra::Metrics, _) => said.extend(ADMIN),
            Kind::With(Extra::Traces, _) => {
                said.extend(ADMIN);
                said.extend(["--otlp-endpoint", &collector, "--trace-sample", "0.01"]);
            }
            Kind::Logged(_) => said.push("--log"),
            Kind::Service(_) | Kind::Baseline(_) | Kind::Minimal(_) | Kind::BareRoute => {}
        }
        let server = Server::start(&program, &said, folder).await?;
        let requests = Requests::to_service(bodies, arguments.proposals).by(tokens);
        let mut subject =
            Self { kind, running: Running { server, database }, requests, memory_before: 0 };
        subject
            .fill(arguments)
            .await
            .with_context(|| format!("{}: cannot fill the store", kind.title()))?;
        Ok(subject)
    }

    pub(super) async fn bare_route(
        arguments: &Arguments,
        bodies: Bodies,
        sizes: &BTreeMap<Group, AnswerSizes>,
        folder: &Path,
    ) -> Result<Self> {
        let kind = Kind::BareRoute;
        let server = Server::start(&program(kind.program())?, &[], folder).await?;
        let requests = Requests::to_bare_route(bodies, arguments.proposals, sizes);
        let memory_before = server.peak_memory()?;
        Ok(Self { kind, running: Running { server, database: None }, requests, memory_before })
    }

    async fn fill(&mut self, arguments: &Arguments) -> Result<()> {
        let Running { server, database } = &self.running;
        let mut load = Load::open(server.address, arguments.connections).await?;
        // Proposals come first: the items of other groups name them.
        for group in arguments.filled_groups().filter(|group| self.kind.has(*group)) {
            let ids = load.create(group, &self.requests, arguments.proposals).await?;
            self.requests.set_ids(group, ids);
        }
        if self.kind.is_service() {
            self.running.settle(&self.requests).await?;
        }
        if let Some(database) = database {
            database.analyze();
        }
        self.memory_before = server.peak_memory()?;
        Ok(())
    }

    pub(super) async fn answer_sizes(&self, group: Group) -> Result<AnswerSizes> {
        let mut load = Load::open(self.running.server.address, 1).await?;
        Ok(AnswerSizes {
            item: load.mean_answer((Work::Item, group), &self.requests, SAMPLE).await?,
            page: load.mean_answer((Work::Page, group), &self.requests, 1).await?,
            deep_page: load.mean_answer((Work::DeepPage, group), &self.requests, 1).await?,
        })
    }

    pub(super) async fn measure(
        &self,
        (work, group): (Work, Group),
        arguments: &Arguments,
    ) -> Result<Measurement> {
        let mut measured = self
            .running
            .turn(&self.requests.of(work, group), arguments)
            .await
            .with_context(|| self.kind.title())?;
        if work.writes() && self.kind.is_service() {
            measured.settling =
                Some(self.running.settle(&self.requests).await.with_context(|| self.kind.title())?);
        }
        Ok(measured)
    }
}

pub(super) fn sqlite_url(folder: &Path, name: &str) -> String {
    format!("sqlite://{}/{name}.db?mode=rwc", folder.display())
}
