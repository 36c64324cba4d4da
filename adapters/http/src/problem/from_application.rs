//! Errors of the layers below as problems: the one place where an error becomes a status.

use application::{ApplicationError, MOST_EMBEDDED, RepositoryError};
use domain::{JsonFault, JsonFaultKind};
use poem::http::HeaderValue;
use poem::http::header;

use super::{Problem, kinds};
use crate::headers::entity_tag::{EntityTag, MalformedCondition};
use crate::headers::idempotency_key::MalformedKey;
use crate::time::TIME;

impl From<JsonFault> for Problem {
    fn from(fault: JsonFault) -> Self {
        let (kind, code) = match fault.kind {
            JsonFaultKind::Empty => (&kinds::EMPTY_BODY, "empty_body"),
            JsonFaultKind::NotUtf8 => (&kinds::NOT_UTF8, "not_utf8"),
            JsonFaultKind::Malformed => (&kinds::MALFORMED_JSON, "malformed_json"),
            JsonFaultKind::TooDeep => (&kinds::TOO_DEEP, "too_deep"),
            JsonFaultKind::DuplicateMember => (&kinds::DUPLICATE_MEMBER, "duplicate_member"),
            JsonFaultKind::LoneSurrogate => (&kinds::LONE_SURROGATE, "lone_surrogate"),
        };
        Self::of_whole_body(kind, code, fault.to_string())
    }
}

impl From<MalformedCondition> for Problem {
    fn from(error: MalformedCondition) -> Self {
        Self::new(&kinds::MALFORMED_CONDITION, error.to_string())
    }
}

impl From<MalformedKey> for Problem {
    fn from(error: MalformedKey) -> Self {
        Self::new(&kinds::MALFORMED_KEY, error.to_string())
    }
}

impl From<ApplicationError> for Problem {
    fn from(error: ApplicationError) -> Self {
        match error {
            ApplicationError::ItemMissing => Self::item_not_found(),
            ApplicationError::OwnerMissing => Self::owner_not_found(),
            ApplicationError::PreconditionFailed { current, relations } => {
                let tag = EntityTag::of_item(current, &relations).header();
                let detail = format!(
                    "The item is at version {current} now; its current entity tag is in the ETag header."
                );
                Self::new(&kinds::PRECONDITION_FAILED, detail).with_header(header::ETAG, tag)
            }
            ApplicationError::CollectionChanged { current } => {
                let detail =
                    "The collection has changed; its current entity tag is in the ETag header.";
                Self::new(&kinds::PRECONDITION_FAILED, detail)
                    .with_header(header::ETAG, EntityTag::of_collection(current).header())
            }
            ApplicationError::NothingThere => Self::new(
                &kinds::PRECONDITION_FAILED,
                "The item was removed, so it has no version that If-Match could name; leave the header out, or send `If-None-Match: *`.",
            ),
            ApplicationError::VersionMissing { latest } => Self::new(
                &kinds::VERSION_NOT_FOUND,
                format!("The last version of the item is {latest}."),
            ),
            ApplicationError::VersionGone { version, time } => {
                let time = TIME.timestamp_to_string(&time);
                Self::new(
                    &kinds::VERSION_GONE,
                    format!("With version {version} the item was removed, at {time}."),
                )
            }
            ApplicationError::InFuture => Self::new(
                &kinds::INVALID_QUERY,
                "`as_of` lies in the future; nobody knows yet what there will be.",
            ),
            ApplicationError::KeyInUse => {
                let detail = "A request with this Idempotency-Key is at work; send it again when it is done.";
                Self::new(&kinds::KEY_IN_USE, detail)
                    .with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
            }
            ApplicationError::KeyReused => Self::new(
                &kinds::KEY_REUSED,
                "This Idempotency-Key was used at this path with another body; make a new one.",
            ),
            ApplicationError::Invalid(violations) => Self::invalid(violations),
            ApplicationError::PageOutOfRange { page, page_count } => {
                let detail = match page_count {
                    Some(last) => format!("Page {page} was asked for; the last page is {last}."),
                    None => format!("Page {page} was asked for, and there are not so many."),
                };
                Self::new(&kinds::PAGE_OUT_OF_RANGE, detail)
            }
            ApplicationError::BeyondLog => Self::new(
                &kinds::INVALID_QUERY,
                "the cursor is beyond the end of the change log: it is of another store, or this one is a copy made before it; begin without it.",
            ),
            ApplicationError::TooMuchEmbedded => {
                let detail = format!(
                    "More than {MOST_EMBEDDED} items would be embedded; ask for a smaller `page_size`, or leave `embed` out."
                );
                Self::new(&kinds::INVALID_QUERY, detail)
            }
            ApplicationError::Contended => {
                Self::unavailable("Too many writers change this item at once.")
            }
            ApplicationError::Store(error) => Self::of_store(error),
        }
    }
}

impl Problem {
    fn of_store(error: RepositoryError) -> Self {
        match error {
            RepositoryError::Full => {
                Self::new(&kinds::STORE_FULL, "The store has no room for this write.")
            }
            RepositoryError::Unavailable => Self::unavailable("The store cannot be reached."),
            error => {
                tracing::error!(%error, "the store failed");
                Self::new(&kinds::INTERNAL, "The service could not do its work.")
            }
        }
    }
}
