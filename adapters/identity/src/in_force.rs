//! Content of an identity file in force, and the keys of its issuers.

use std::sync::Arc;

use application::{Clock, PublishedIdentity};
use language::FileContent;

use crate::identity_file::IdentityFile;
use crate::issuer::Issuer;
use crate::issuer_keys::IssuerKeys;

pub struct InForce {
    pub(crate) file: IdentityFile,
    pub(crate) keys: Vec<Arc<IssuerKeys>>,
    /// Unique number: a file may return to earlier content.
    pub(crate) edition: u64,
    pub(crate) published: Arc<PublishedIdentity>,
}

impl FileContent for InForce {
    const NAME: &'static str = "identity settings";
    const KIND: &'static str = "identity";
    const FILES: &'static str = "identity files";

    fn log_change(&self) {
        let (issuers, keys) = (self.file.issuers.len(), self.file.keys.len());
        tracing::info!(issuers, keys, "the identity file was reloaded and is in force");
    }

    fn warn_if_empty(&self) {
        let issuers = self.file.issuers.len();
        if self.file.has_empty_keys {
            tracing::warn!(issuers, "`keys: []` is in force: every key of the service is refused");
        } else if issuers == 0 && self.file.keys.is_empty() {
            tracing::warn!("no issuers and no keys are in force: every token is refused");
        }
    }
}

impl InForce {
    /// Joins a new file with the keys of issuers whose source is unchanged.
    pub(crate) fn new(
        file: IdentityFile,
        old: Option<&Self>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, rustls::Error> {
        let known = |issuer: &Arc<Issuer>| {
            let known = old.into_iter().flat_map(|old| &old.keys);
            known.into_iter().find(|keys| keys.source == issuer.source).cloned()
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

    /// Returns the known token endpoints of the issuers that pages sign in with.
    pub(crate) fn token_endpoints(&self) -> Vec<Box<str>> {
        let issuers = self.file.issuers.iter().zip(&self.keys);
        let with_client = issuers.filter(|(issuer, _)| issuer.swagger_client.is_some());
        with_client.filter_map(|(_, keys)| keys.token_endpoint()).collect()
    }

    pub(crate) fn issuer(&self, url: &str) -> Option<(&Arc<Issuer>, &Arc<IssuerKeys>)> {
        let mut issuers = self.file.issuers.iter().zip(&self.keys);
        issuers.find(|(issuer, _)| *issuer.source.issuer == *url)
    }
}
