//! The subjects of measurements: the service on a store, or a reference.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;

use crate::arguments::{Arguments, Extra, Store};
use crate::callers;
use crate::database::Database;
use crate::load::Load;
use crate::policies;
use crate::process::{Server, program};
use crate::turn::{Measurement, Running};
use crate::work::{AnswerSizes, Requests, Work, write_request};

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
    pub(super) fn title(self) -> String {
        let name = match self {
            Self::Service(_) => "service".to_owned(),
            Self::With(extra, _) => format!("with {}", extra.name()),
            Self::Baseline(_) => "baseline".to_owned(),
            Self::Minimal(_) => "minimal axum".to_owned(),
            Self::Logged(_) => "logged axum".to_owned(),
            Self::BareRoute => return "bare poem route".to_owned(),
        };
        format!("{name} on {}", self.store().map_or("", Store::title))
    }

    const fn store(self) -> Option<Store> {
        match self {
            Self::Service(store)
            | Self::With(_, store)
            | Self::Baseline(store)
            | Self::Minimal(store)
            | Self::Logged(store) => Some(store),
            Self::BareRoute => None,
        }
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

    /// Returns whether the program is the service, which indexes after its answers.
    fn is_service(self) -> bool {
        self.program() == "proposal-service"
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
    /// Starts a subject, and fills its store if it has one.
    pub(super) async fn start(
        kind: Kind,
        mut requests: Requests,
        arguments: &Arguments,
        folder: &Path,
    ) -> Result<Self> {
        let program = match (kind, &arguments.baseline) {
            (Kind::Baseline(_), Some(binary)) => binary.clone(),
            _ => program(kind.program())?,
        };
        let database = kind.store().map(Database::of).transpose()?.flatten();
        let own = kind.title().replace(' ', "-");
        let url = store_url(database.as_ref(), &folder.join(&own));
        let names = ["rules.yaml", "identity.json", "policies.json"];
        let [rules, identity, policies] = names.map(|name| folder.join(format!("{own}-{name}")));
        let [rules_file, identity_file, policies_file] =
            [&rules, &identity, &policies].map(|file| file.display().to_string());
        let collector = callers::collector().await?;
        let mut said = Vec::new();
        if kind != Kind::BareRoute {
            said.extend(["--database-url", url.as_str()]);
        }
        match kind {
            Kind::With(Extra::Rules, _) => {
                std::fs::write(&rules, TWENTY_RULES)?;
                said.extend(["--rules", &rules_file]);
            }
            Kind::With(Extra::Callers, _) => {
                requests.tokens = callers::tokens(callers::CALLERS, &identity).await?;
                said.extend(["--identity", &identity_file]);
            }
            Kind::With(Extra::Metrics, _) => said.extend(ADMIN),
            Kind::With(Extra::Traces, _) => {
                said.extend(ADMIN);
                said.extend(["--otlp-endpoint", &collector, "--trace-sample", "0.01"]);
            }
            Kind::With(extra, _) => {
                let content = policies::file(extra).context("an extra without options")?;
                std::fs::write(&policies, content)?;
                requests.tokens = callers::tokens(policies::CALLERS, &identity).await?;
                said.extend(["--identity", &identity_file, "--policies", &policies_file]);
            }
            Kind::Logged(_) => said.push("--log"),
            Kind::Service(_) | Kind::Baseline(_) | Kind::Minimal(_) | Kind::BareRoute => {}
        }
        let server = Server::start(&program, &said, folder).await?;
        let running = Running { server, database };
        let mut subject = Self { kind, running, requests, memory_before: 0 };
        if kind != Kind::BareRoute {
            let filled = subject.fill(arguments).await;
            filled.with_context(|| format!("{}: cannot fill the store", kind.title()))?;
        }
        subject.memory_before = subject.running.server.peak_memory()?;
        Ok(subject)
    }

    async fn fill(&mut self, arguments: &Arguments) -> Result<()> {
        let Running { server, database } = &self.running;
        let mut load = Load::open(&[server.address], arguments.connections).await?;
        let requests = &self.requests;
        let create = |number, request: &mut Vec<u8>| {
            let mut random = Rng::with_seed(number as u64);
            requests.write_about(number, Work::Create, &mut random, request);
        };
        let mut ids = load.create(arguments.proposals as usize, create).await?;
        if let Kind::With(extra, _) = self.kind
            && policies::deciding(extra, 0, &ids[0]).is_some()
        {
            let decide = |number: usize, request: &mut Vec<u8>| {
                let (path, item) =
                    policies::deciding(extra, number, &ids[number]).unwrap_or_default();
                let authorization = requests.authorization(number);
                write_request(
                    request,
                    "POST",
                    path,
                    &authorization,
                    Some(item.to_string().as_bytes()),
                );
            };
            load.create(ids.len(), decide).await?;
            let mut number = 0..;
            ids.retain(|_| number.next().is_some_and(|number| policies::is_read(extra, number)));
        }
        self.requests.ids = ids;
        if self.kind.is_service() {
            self.running.settle(&self.requests.authorization(0)).await?;
        }
        if let Some(database) = database {
            // The planner knows the tables, as after autovacuum within a minute, so that the figures
            // do not depend on the time of autovacuum.
            database.run("ANALYZE");
        }
        Ok(())
    }

    pub(super) async fn answer_sizes(&self) -> Result<AnswerSizes> {
        let mut load = Load::open(&[self.running.server.address], 1).await?;
        let mut sizes = AnswerSizes::new();
        for (work, sample) in [
            (Work::Item, SAMPLE),
            (Work::Page, 1),
            (Work::DeepPage, 1),
            (Work::NewPage, 1),
            (Work::Total, 1),
        ] {
            sizes.insert(work, load.mean_answer(work, &self.requests, sample).await?);
        }
        Ok(sizes)
    }

    pub(super) async fn measure(&self, work: Work, arguments: &Arguments) -> Result<Measurement> {
        let measured = async {
            let source = |random: &mut Rng, request: &mut Vec<u8>| {
                self.requests.write(work, random, request);
            };
            let time = Duration::from_secs(arguments.seconds);
            let turn = self.running.turn(&source, arguments.connections, [time / 10, time]);
            let mut measured = turn.await?;
            if work.writes() && self.kind.is_service() {
                let authorization = self.requests.authorization(0);
                measured.settling = Some(self.running.settle(&authorization).await?);
            }
            anyhow::Ok(measured)
        };
        measured.await.with_context(|| format!("{}, {}", self.kind.title(), work.title()))
    }
}

/// The URL of a database, or of a file where there is none.
pub(super) fn store_url(database: Option<&Database>, file: &Path) -> String {
    let of_file = || format!("sqlite://{}.db?mode=rwc", file.display());
    database.map_or_else(of_file, |database| database.url().to_owned())
}
