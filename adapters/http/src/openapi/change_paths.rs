//! The change log in the document: in pages, and as a stream.

use application::Sequence;
use domain::Collection;
use poem_openapi::registry::{
    MetaOperation, MetaOperationParam, MetaParamIn, MetaPath, MetaSchema, Registry,
};
use serde_json::{Value, json};

use super::operations::parameter;
use super::schemas::reference;
use super::service_paths::operation;
use crate::headers::media_type::MediaType;
use crate::links;
use crate::query::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, change_cursor};

const CHANGES: &str = "Follow `_links.next`: it is on every page, also on an empty one, so a reader simply keeps following it. Nothing is missed and nothing comes twice, however many write at once. With `group`, a page may be empty although there is more. `kind` is `created`, `replaced`, `patched` or `deleted`; a deletion takes the next version.";

const STREAM: &str = "The same as server-sent events, from now on; with `Last-Event-ID` after the event of that `id`, which is how a browser connects again. The data of each event is a CloudEvent 1.0 in JSON, whose `subject` is the item's path and whose `data` is the change as `/v1/changes` shows it. A comment is sent every 15 seconds. A reader who does not read is cut off and may connect again where it was. Swagger UI waits for the end, which does not come: try `curl -N`.";

const PAGE: &str = "ChangePage";
const EVENTS: &str = "ChangeEvents";

/// The two paths.
pub fn paths() -> [MetaPath; 2] {
    let types = [MediaType::HAL, MediaType::JSON];
    let listed = MetaOperation {
        description: Some(CHANGES),
        params: vec![after(), group(), page_size()],
        ..operation(
            "listChanges",
            "Every write of every group, in the order of the commits",
            &types,
            &reference(PAGE),
            &[304, 400, 414, 503],
        )
    };
    let streamed = MetaOperation {
        description: Some(STREAM),
        params: vec![group(), last_event_id()],
        ..operation(
            "streamChanges",
            "Every write as it happens",
            &[MediaType::EVENT_STREAM],
            &reference(EVENTS),
            &[400, 414, 503],
        )
    };
    let path =
        |path: &str, operation| MetaPath { path: path.to_owned(), operations: vec![operation] };
    [path(links::CHANGES, listed), path(links::CHANGE_STREAM, streamed)]
}

/// Registers the schema of the stream, and the example of a change.
pub fn register(registry: &mut Registry) {
    registry.schemas.insert(EVENTS.to_owned(), events());
    if let Some(change) = registry.schemas.get_mut("Change") {
        change.example = Some(example());
    }
}

fn text(example: impl Into<Value>) -> MetaSchema {
    MetaSchema { example: Some(example.into()), ..MetaSchema::new("string") }
}

fn cursor() -> MetaSchema {
    MetaSchema {
        pattern: Some("^[A-Za-z0-9_-]+$".to_owned()),
        ..text(change_cursor::write(Sequence(0)))
    }
}

fn after() -> MetaOperationParam {
    parameter(
        "after",
        MetaParamIn::Query,
        "The cursor of a change: those after it. Without it, from the first on.",
        cursor(),
    )
}

fn last_event_id() -> MetaOperationParam {
    parameter(
        "Last-Event-ID",
        MetaParamIn::Header,
        "The `id` of the last event that was received.",
        cursor(),
    )
}

fn groups() -> MetaSchema {
    let groups = Collection::all().map(|collection| collection.name().into()).collect();
    MetaSchema { enum_items: groups, ..text(Collection::known("proposals").name()) }
}

fn group() -> MetaOperationParam {
    parameter("group", MetaParamIn::Query, "Changes of this group alone.", groups())
}

fn page_size() -> MetaOperationParam {
    let size = MetaSchema {
        minimum: Some(1.0),
        #[expect(clippy::cast_precision_loss, reason = "a small constant")]
        maximum: Some(MAX_PAGE_SIZE as f64),
        default: Some(DEFAULT_PAGE_SIZE.into()),
        example: Some(100.into()),
        ..MetaSchema::new("integer")
    };
    parameter("page_size", MetaParamIn::Query, "Most changes on a page.", size)
}

fn example() -> Value {
    let item = "http://127.0.0.1:8080/v1/proposals/01890a5d-ac96-774b-bcce-b302099a8050";
    json!({
        "group": "proposals", "item_id": "01890a5d-ac96-774b-bcce-b302099a8050", "version": 2, "kind": "patched",
        "time": "2026-02-16T00:00:00.000000Z", "caller": null, "cursor": change_cursor::write(Sequence(7)),
        "_links": { "item": { "href": item }, "version": { "href": format!("{item}/versions/2") } },
    })
}

fn events() -> MetaSchema {
    let change = example();
    let event = json!({
        "specversion": "1.0", "id": change["cursor"], "source": "http://127.0.0.1:8080/v1/changes",
        "type": "research-proposal-service.item.patched", "subject": "/v1/proposals/01890a5d-ac96-774b-bcce-b302099a8050",
        "time": change["time"], "datacontenttype": "application/json", "data": change,
    });
    let example = format!(
        "retry: 2000\n\nid: {}\ndata: {event}\n\n:\n\n",
        event["id"].as_str().unwrap_or_default()
    );
    MetaSchema { description: Some("Server-sent events."), ..text(example) }
}
