//! The folder or bucket that the operator names, and the id that the database knows it by.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use application::ContentStore;

use crate::layout::{Disk, LocationError, S3, without_settings};
use crate::{Bucket, Folder};

/// A place for the bytes of contents.
#[derive(Clone, Debug)]
pub struct Location {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Folder(Folder),
    Bucket(Bucket),
}

impl Location {
    /// Opens `s3://BUCKET/PREFIX`, or a folder, which is created if it does not exist. An upload to a folder
    /// leaves `reserve` bytes of its disk free. Parts for a bucket wait in `temp_dir`.
    ///
    /// # Errors
    /// If the folder cannot be created, or the address of the bucket or a variable `AWS_*` is wrong.
    pub fn open(name: &str, temp_dir: &Path, reserve: u64) -> Result<Self, LocationError> {
        let kind = if name.starts_with(S3) {
            Kind::Bucket(Bucket::open(name, temp_dir)?)
        } else {
            Kind::Folder(Folder::open(Path::new(name), reserve)?)
        };
        Ok(Self { name: without_settings(name).to_owned(), kind })
    }

    /// Opens a bucket, or a folder that exists; `None` without the folder.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn existing(name: &str, temp_dir: &Path) -> Result<Option<Self>, LocationError> {
        let exists = name.starts_with(S3) || Path::new(name).is_dir();
        exists.then(|| Self::open(name, temp_dir, 0)).transpose()
    }

    pub fn store(&self) -> Arc<dyn ContentStore> {
        match &self.kind {
            Kind::Folder(folder) => Arc::new(folder.clone()),
            Kind::Bucket(bucket) => Arc::new(bucket.clone()),
        }
    }

    /// Returns the id; `None` for a new folder or bucket.
    pub async fn id(&self) -> Result<Option<String>, LocationError> {
        match &self.kind {
            Kind::Folder(folder) => folder.id().map_err(|error| self.unusable(error)),
            Kind::Bucket(bucket) => bucket.id().await.map_err(|error| self.unusable(error)),
        }
    }

    /// Checks that it has the id that the database names. A new folder or bucket gets that id, unless
    /// the database knows of bytes.
    ///
    /// # Errors
    /// If it is another one, or a new one without the bytes.
    pub async fn claim(&self, named: &str, has_bytes: bool) -> Result<(), LocationError> {
        match self.id().await? {
            Some(id) if id == named => Ok(()),
            Some(_) => Err(LocationError::OfAnother(self.name.clone())),
            None if has_bytes => Err(LocationError::Empty(self.name.clone())),
            None => match &self.kind {
                Kind::Folder(folder) => folder.set_id(named).map_err(|error| self.unusable(error)),
                Kind::Bucket(bucket) => {
                    bucket.set_id(named).await.map_err(|error| self.unusable(error))
                }
            },
        }
    }

    /// Returns the disk of a folder; `None` for a bucket, and if the folder cannot be reached.
    pub fn disk(&self) -> Option<Disk> {
        match &self.kind {
            Kind::Folder(folder) => folder.disk().ok(),
            Kind::Bucket(_) => None,
        }
    }

    /// Copies the files of a folder to another one. Returns their number; `None` for a bucket.
    pub fn back_up(&self, to: &Path) -> Result<Option<u64>, LocationError> {
        match &self.kind {
            Kind::Folder(folder) => {
                let unusable = |error: std::io::Error| {
                    LocationError::Unusable(to.display().to_string(), error.into())
                };
                folder.back_up(to).map(Some).map_err(unusable)
            }
            Kind::Bucket(_) => Ok(None),
        }
    }

    fn unusable(&self, error: impl Into<Box<dyn Error + Send + Sync>>) -> LocationError {
        LocationError::Unusable(self.name.clone(), error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Location, LocationError};

    #[tokio::test]
    async fn a_folder_is_of_one_store() {
        let place = tempfile::tempdir().unwrap();
        let folder =
            |name: &str| Location::open(place.path().join(name).to_str().unwrap(), place.path(), 0);
        let one = folder("one").unwrap();
        assert!(matches!(one.claim("a", true).await, Err(LocationError::Empty(_))));
        assert_eq!(one.id().await.unwrap(), None);
        one.claim("a", false).await.unwrap();
        one.claim("a", true).await.unwrap();
        assert_eq!(one.id().await.unwrap().as_deref(), Some("a"));
        assert!(matches!(one.claim("b", false).await, Err(LocationError::OfAnother(_))));
        folder("two").unwrap().claim("a", false).await.unwrap();
    }
}
