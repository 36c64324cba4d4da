//! Errors of the layers below as problems. Only this module maps an error to a status.

use application::{ApplicationError, ContentError, MOST_EMBEDDED, RepositoryError};
use domain::{JsonError, JsonErrorKind, Operation};
use poem::http::header;

use super::{Problem, kinds};
use crate::headers::entity_tag::EntityTag;
use crate::time::TIME;

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        let (kind, code) = match error.kind {
            JsonErrorKind::Empty => (&kinds::EMPTY_BODY, "empty_body"),
            JsonErrorKind::NotUtf8 => (&kinds::NOT_UTF8, "not_utf8"),
            JsonErrorKind::Malformed => (&kinds::MALFORMED_JSON, "malformed_json"),
            JsonErrorKind::TooDeep => (&kinds::TOO_DEEP, "too_deep"),
            JsonErrorKind::DuplicateMember => (&kinds::DUPLICATE_MEMBER, "duplicate_member"),
            JsonErrorKind::LoneSurrogate => (&kinds::LONE_SURROGATE, "lone_surrogate"),
        };
        Self::of_whole_body(kind, code, error.to_string())
    }
}

impl From<ContentError> for Problem {
    fn from(error: ContentError) -> Self {
        ApplicationError::from(error).into()
    }
}

impl From<ApplicationError> for Problem {
    fn from(error: ApplicationError) -> Self {
        use ApplicationError as Error;
        let (kind, detail) = match error {
            Error::ItemNotFound => return Self::item_not_found(),
            Error::ParentNotFound => return Self::parent_not_found(),
            Error::PreconditionFailed { current, links } => {
                let detail = format!("The item is now at version {current}");
                return Self::changed(&detail, &EntityTag::of_item(current, &links));
            }
            Error::CollectionChanged { current } => {
                let tag = EntityTag::of_collection(&current);
                return Self::changed("The collection has changed", &tag);
            }
            error @ (Error::ContentChanged { .. }
            | Error::NoContentStore
            | Error::ProposalFull { .. }
            | Error::NoContent
            | Error::ContentLost) => return Self::of_content(&error),
            Error::KeyInUse => {
                let detail = "A request with this Idempotency-Key is still in progress. Retry when it has finished.";
                return Self::new(&kinds::KEY_IN_USE, detail)
                    .with_header(header::RETRY_AFTER, "1");
            }
            error @ (Error::NotPermitted { .. }
            | Error::NotPermittedBelow { .. }
            | Error::CredentialsRequired
            | Error::InsufficientScope { .. }
            | Error::WholeCollectionNeeded) => return Self::of_access(error),
            Error::MembersNotPermitted(refused) => return Self::members_not_permitted(refused),
            Error::Invalid(violations) => return Self::invalid(violations),
            Error::TooManyConflicts => {
                return Self::unavailable("Too many concurrent writes to this item.");
            }
            Error::Store(error) => return Self::of_store(error),
            Error::ItemDeleted => (&kinds::PRECONDITION_FAILED, "The item was deleted, so If-Match cannot match. Omit the header, or send `If-None-Match: *`.".to_owned()),
            Error::VersionNotFound { latest } => {
                (&kinds::VERSION_NOT_FOUND, format!("The last version of the item is {latest}."))
            }
            Error::VersionGone { version, time } => {
                let time = TIME.timestamp_to_string(&time);
                let detail = format!("The item was deleted with version {version}, at {time}.");
                (&kinds::VERSION_GONE, detail)
            }
            Error::BodyRemoved { version, removed_at } => {
                return Self::body_removed(version, removed_at);
            }
            Error::InFuture => (&kinds::INVALID_QUERY, "`as_of` is in the future. Use a past time.".to_owned()),
            Error::KeyReused => (&kinds::KEY_REUSED, "This Idempotency-Key was used at this path with another body. Use a new key.".to_owned()),
            Error::PageOutOfRange { page, page_count } => {
                let last = page_count.map(|last| format!(" The last page is {last}."));
                let detail = format!("Page {page} does not exist.{}", last.unwrap_or_default());
                (&kinds::PAGE_OUT_OF_RANGE, detail)
            }
            Error::BeyondLog => (&kinds::INVALID_QUERY, "The cursor is beyond the end of the change log: it belongs to another store, or this store is an older copy. Start without a cursor.".to_owned()),
            Error::TooMuchEmbedded => (&kinds::INVALID_QUERY, format!("More than {MOST_EMBEDDED} items would be embedded. Use a smaller `page_size`, or omit `embed`.")),
        };
        Self::new(kind, detail)
    }
}

impl Problem {
    fn changed(detail: &str, tag: &EntityTag) -> Self {
        let detail = format!("{detail}. Its current entity tag is in the ETag header.");
        Self::new(&kinds::PRECONDITION_FAILED, detail).with_header(header::ETAG, tag.header())
    }

    fn of_content(error: &ApplicationError) -> Self {
        match error {
            ApplicationError::ContentChanged { current: Some(digest) } => {
                let detail =
                    "The item has content with another entity tag, which is in the ETag header.";
                Self::new(&kinds::PRECONDITION_FAILED, detail)
                    .with_header(header::ETAG, EntityTag::of_digest(digest).header())
            }
            ApplicationError::ContentChanged { current: None } => {
                Self::new(&kinds::PRECONDITION_FAILED, "The item has no content.")
            }
            ApplicationError::NoContentStore => Self::unavailable(
                "This service has no place for contents. Its operators can name one (`--contents`).",
            ),
            ApplicationError::ProposalFull { most } => {
                let detail = format!(
                    "The contents of a proposal may have at most {most} bytes in all. Remove contents of its library or files that are not needed."
                );
                Self::new(&kinds::BODY_TOO_LARGE, detail)
            }
            ApplicationError::ContentLost => {
                let detail = "The bytes of this content are missing or corrupted.";
                Self::new(&kinds::CONTENT_LOST, detail)
            }
            _ => Self::new(&kinds::NO_CONTENT, "The item has no content."),
        }
    }

    fn of_access(error: ApplicationError) -> Self {
        match error {
            ApplicationError::InsufficientScope { operation } => {
                let name = operation.name();
                let detail = format!("The token's scope does not grant the operation `{name}`.");
                Self::new(&kinds::INSUFFICIENT_SCOPE, detail)
            }
            ApplicationError::WholeCollectionNeeded => {
                let detail = "You may write only some items of this collection, but this request writes all of them.";
                Self::new(&kinds::NEEDS_WHOLE_COLLECTION, detail)
            }
            ApplicationError::NotPermitted { operation, collection, policies } => {
                let what = match operation {
                    Operation::Read => "read".to_owned(),
                    Operation::History => "read the history of".to_owned(),
                    _ => format!("{} this item of", operation.name()),
                };
                let detail = format!("You are not allowed to {what} `{}`.", collection.name());
                Self::not_permitted(detail, policies)
            }
            ApplicationError::NotPermittedBelow { collection, policies } => {
                let collection = collection.name();
                let detail = format!(
                    "This would also delete items of `{collection}` that you are not allowed to delete."
                );
                Self::not_permitted(detail, policies)
            }
            _ => {
                let detail = "Send an access token or a key in the Authorization header.";
                Self::new(&kinds::CREDENTIALS_REQUIRED, detail)
            }
        }
    }

    fn of_store(error: RepositoryError) -> Self {
        match error {
            RepositoryError::Full => {
                Self::new(&kinds::STORE_FULL, "No storage space is left for this write.")
            }
            RepositoryError::Unavailable => Self::unavailable("The store cannot be reached."),
            RepositoryError::IndexBuilding { indexed, of, seconds } => {
                Self::index_building(indexed, of, seconds)
            }
            error => {
                tracing::error!(%error, "the store failed");
                Self::internal()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use application::{ApplicationError, RepositoryError};
    use poem::http::header;

    use super::Problem;
    use crate::base_url::BaseUrl;

    #[test]
    fn a_search_reports_the_progress_of_the_index() {
        let behind = RepositoryError::IndexBuilding { indexed: 7, of: 900, seconds: 42 };
        let problem = Problem::from(ApplicationError::from(behind));
        let retry = problem.headers.iter().find(|(name, _)| *name == header::RETRY_AFTER);
        assert_eq!(retry.unwrap().1, "42");
        let base_url: BaseUrl = "http://localhost".parse().unwrap();
        let members = problem.to_json(&base_url, "/v1/proposals");
        assert_eq!(members["status"], 503);
        assert_eq!(members["code"], "index-building");
        assert_eq!((&members["indexed"], &members["of"]), (&7.into(), &900.into()));
        let detail = members["detail"].as_str().unwrap();
        assert!(detail.contains("7 of 900") && detail.contains("42 seconds"), "{detail}");
    }
}
