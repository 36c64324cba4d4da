//! The identity file that holds now, and how it is replaced by what the file says now.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use application::{Clock, PublishedIdentity};
use language::error::FileErrors;
use language::files::Fingerprint;
use language::{Reload, TrackedFiles};

use crate::cache::TokenCache;
use crate::file_format::KIND_OF_FILES;
use crate::identity_file::IdentityFile;
use crate::issuer::Issuer;
use crate::issuer_keys::IssuerKeys;
use crate::verifier::Verifiers;

/// How often it is looked whether the keys of an issuer are to be fetched.
const PAUSE: Duration = Duration::from_millis(500);

/// The callers that an identity file makes known, read again when the file changes.
///
/// What is in force is behind a lock that is held for a read of a pointer, or for its replacement.
pub struct ReloadableIdentity {
    files: TrackedFiles,
    base_url: Box<str>,
    pub(crate) clock: Arc<dyn Clock>,
    current: RwLock<Arc<InForce>>,
    pub(crate) cache: TokenCache,
    pub(crate) verifiers: Verifiers,
}

impl fmt::Debug for ReloadableIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReloadableIdentity")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// What a file says, and the keys of its issuers.
#[derive(Debug)]
pub(crate) struct InForce {
    pub file: IdentityFile,
    /// The keys of the issuers, in their order.
    keys: Vec<Arc<IssuerKeys>>,
    /// A number that no other content has had: a file may become what it was before.
    pub edition: u64,
    published: Arc<PublishedIdentity>,
}

impl InForce {
    /// Makes what a file says, with the keys of issuers whose source is as it was.
    fn new(
        file: IdentityFile,
        old: Option<&Self>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, rustls::Error> {
        let known = |issuer: &Arc<Issuer>| {
            let known = old.into_iter().flat_map(|old| &old.keys);
            known.into_iter().find(|keys| *keys.source() == issuer.source).cloned()
        };
        let keys = file.issuers.iter().map(|issuer| match known(issuer) {
            Some(keys) => Ok(keys),
            None => IssuerKeys::new(issuer.source.clone(), clock.clone()).map(Arc::new),
        });
        let keys = keys.collect::<Result<_, _>>()?;
        let edition = old.map_or(1, |old| old.edition + 1);
        let published = Arc::new(file.published());
        Ok(Self { file, keys, edition, published })
    }

    /// Finds an issuer by its URL, and its keys.
    pub fn issuer(&self, url: &str) -> Option<(&Arc<Issuer>, &Arc<IssuerKeys>)> {
        let mut issuers = self.file.issuers.iter().zip(&self.keys);
        issuers.find(|(issuer, _)| *issuer.source.issuer == *url)
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
            cache: TokenCache::default(),
            verifiers: Verifiers::default(),
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

    /// What is in force.
    pub(crate) fn current(&self) -> Arc<InForce> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn published_now(&self) -> Arc<PublishedIdentity> {
        self.current().published.clone()
    }
}

impl Reload for ReloadableIdentity {
    const NAME: &'static str = "identity settings";

    fn changed(&self) -> Option<Fingerprint> {
        self.files.changed()
    }

    fn reload(&self) -> Result<bool, FileErrors> {
        self.files.read_again(|files, errors| {
            let file = IdentityFile::read(files, errors, &self.base_url)?;
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            let is_other = current.file.edition() != file.edition();
            let path = files.first().map_or(Path::new(""), |file| Path::new(&*file.name));
            let next = InForce::new(file, Some(&current), &self.clock);
            *current = Arc::new(next.map_err(|error| of_tls(path, &error))?);
            Ok(is_other)
        })
    }

    fn log_change(&self) {
        let current = self.current();
        let (issuers, keys) = (current.file.issuers.len(), current.file.keys.len());
        tracing::info!(issuers, keys, "the identity file was read again and is in force");
    }
}

/// An error of the cryptography of TLS, in which no file takes part.
fn of_tls(path: &Path, error: &rustls::Error) -> FileErrors {
    let (name, mut errors) = (path.display().to_string().into(), FileErrors::default());
    language::error::ErrorCollector::new(&name, &mut errors)
        .add_to_file(format!("TLS to issuers cannot be set up: {error}"));
    errors
}
