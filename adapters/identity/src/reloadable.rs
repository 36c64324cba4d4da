use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use application::{Clock, Identity, PublishedIdentity, Unrecognized};
use async_trait::async_trait;
use domain::Principal;
use language::ReloadableFiles;
use language::error::FileErrors;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::identity_file::IdentityFile;
use crate::in_force::InForce;
use crate::issuer_keys::IssuerKeys;
use crate::verifier::Verifier;

/// Interval between checks of the issuers for due fetches.
const PAUSE: Duration = Duration::from_millis(500);

pub struct ReloadableIdentity {
    pub files: Arc<ReloadableFiles<InForce>>,
    clock: Arc<dyn Clock>,
    verifier: Verifier,
}

impl fmt::Debug for ReloadableIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verifier.fmt(formatter)
    }
}

impl ReloadableIdentity {
    /// Reads an identity file, or the files of a folder with the extension `.yaml`, `.yml` or
    /// `.json`. `base_url` is the default audience of issuers.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, base_url: &str) -> Result<Self, FileErrors> {
        let (of_keys, base_url, folder) = (clock.clone(), base_url.to_owned(), path.to_owned());
        let read = move |files, old: Option<&InForce>| {
            let file = IdentityFile::read(files, &base_url)?;
            InForce::new(file, old, &of_keys).map_err(|error| of_tls(&folder, &error))
        };
        let files = ReloadableFiles::open(path, read)?.into();
        Ok(Self { files, clock, verifier: Verifier::default() })
    }

    /// Keeps the keys of all issuers current, forever. Until it runs, tokens trigger the fetches.
    pub async fn keep_keys(self: Arc<Self>) {
        loop {
            self.files.current().keys.iter().for_each(IssuerKeys::fetch_if_due);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[async_trait]
impl Identity for ReloadableIdentity {
    async fn recognize(&self, token: &str) -> Result<Arc<Principal>, Unrecognized> {
        self.verifier.recognize(&self.files.current(), token, self.clock.now()).await
    }

    fn published(&self) -> Arc<PublishedIdentity> {
        self.files.current().published.clone()
    }

    fn token_endpoints(&self) -> Vec<Box<str>> {
        self.files.current().token_endpoints()
    }
}

/// Wraps an error of the TLS cryptography, which has no position in a file.
fn of_tls(path: &Path, error: &rustls::Error) -> FileErrors {
    let (name, mut errors) = (path.display().to_string().into(), FileErrors::default());
    language::error::ErrorCollector::new(&name, &mut errors)
        .add_to_file(format!("TLS to issuers cannot be set up: {error}"));
    errors
}

impl Collector for ReloadableIdentity {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.verifier.metrics.encode(&self.files.current(), &mut encoder)
    }
}
