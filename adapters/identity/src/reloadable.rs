//! The identity file that holds now, and how it is replaced by what the file says now.

use parking_lot::RwLock;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use application::{Clock, Identity, PublishedIdentity, Unrecognized};
use async_trait::async_trait;
use domain::Principal;
use language::error::FileErrors;
use language::files::Fingerprint;
use language::{Reload, TrackedFiles};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::file_format::KIND_OF_FILES;
use crate::identity_file::IdentityFile;
use crate::in_force::InForce;
use crate::issuer_keys::IssuerKeys;
use crate::verifier::Verifier;

/// How often it is looked whether the keys of an issuer are to be fetched.
const PAUSE: Duration = Duration::from_millis(500);

/// The callers that an identity file makes known, read again when the file changes.
///
/// The content in force is behind a lock that is held for a read of a pointer, or for its replacement.
pub struct ReloadableIdentity {
    files: TrackedFiles,
    base_url: Box<str>,
    clock: Arc<dyn Clock>,
    current: RwLock<Arc<InForce>>,
    verifier: Verifier,
}

impl fmt::Debug for ReloadableIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReloadableIdentity")
            .field("files", &self.files)
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}

impl ReloadableIdentity {
    /// Reads an identity file, or those files of a folder whose names end in `.yaml`, `.yml` or
    /// `.json`. `base_url` is the audience of issuers that name none.
    ///
    /// # Errors
    /// Everything that is wrong with the files.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, base_url: &str) -> Result<Self, FileErrors> {
        let (files, read, errors) = TrackedFiles::open(path, KIND_OF_FILES);
        let file = IdentityFile::read(&read, errors, base_url)?;
        let current = InForce::new(file, None, &clock).map_err(|error| of_tls(path, &error))?;
        Ok(Self {
            files,
            base_url: base_url.into(),
            clock,
            current: RwLock::new(Arc::new(current)),
            verifier: Verifier::default(),
        })
    }

    /// Keeps the keys of all issuers up to date, for ever. Until it runs, they are fetched when a
    /// token needs them.
    pub async fn keep_keys(self: Arc<Self>) {
        loop {
            self.current().keys.iter().for_each(IssuerKeys::fetch_if_due);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The content in force.
    fn current(&self) -> Arc<InForce> {
        self.current.read().clone()
    }
}

impl Reload for ReloadableIdentity {
    const NAME: &'static str = "identity settings";
    const KIND: &'static str = "identity";

    fn changed(&self) -> Option<Fingerprint> {
        self.files.changed()
    }

    fn reload(&self) -> Result<bool, FileErrors> {
        self.files.read_again(|files, errors| {
            let file = IdentityFile::read(files, errors, &self.base_url)?;
            let old = self.current();
            let is_other = old.file.fingerprint() != file.fingerprint();
            let path = files.first().map_or(Path::new(""), |file| Path::new(&*file.name));
            let next = InForce::new(file, Some(&old), &self.clock);
            let next = Arc::new(next.map_err(|error| of_tls(path, &error))?);
            // Nobody else writes: files are read by one caller at a time.
            *self.current.write() = next;
            Ok(is_other)
        })
    }

    fn log_change(&self) {
        let current = self.current();
        let (issuers, keys) = (current.file.issuers.len(), current.file.keys.len());
        tracing::info!(issuers, keys, "the identity file was read again and is in force");
    }

    fn warn_if_empty(&self) {
        let current = self.current();
        let issuers = current.file.issuers.len();
        if current.file.has_empty_keys {
            tracing::warn!(issuers, "`keys: []` is in force: every key of the service is refused");
        } else if issuers == 0 && current.file.keys.is_empty() {
            tracing::warn!("no issuers and no keys are in force: every token is refused");
        }
    }
}

#[async_trait]
impl Identity for ReloadableIdentity {
    async fn recognize(&self, token: &str) -> Result<Arc<Principal>, Unrecognized> {
        self.verifier.recognize(&self.current(), token, self.clock.now()).await
    }

    fn published(&self) -> Arc<PublishedIdentity> {
        self.current().published.clone()
    }

    fn token_endpoints(&self) -> Vec<Box<str>> {
        self.current().token_endpoints()
    }
}

/// An error of the cryptography of TLS, in which no file takes part.
fn of_tls(path: &Path, error: &rustls::Error) -> FileErrors {
    let (name, mut errors) = (path.display().to_string().into(), FileErrors::default());
    language::error::ErrorCollector::new(&name, &mut errors)
        .add_to_file(format!("TLS to issuers cannot be set up: {error}"));
    errors
}

impl Collector for ReloadableIdentity {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.verifier.metrics.encode(&self.current(), &mut encoder)
    }
}
