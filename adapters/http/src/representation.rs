//! From items to HAL (draft-kelly-json-hal): stored members are spliced into the text as they are,
//! never rebuilt.

use std::fmt::Write;

use application::query::Total;
use application::{
    ChangeKind, Embedded, EmbeddedItems, ListedItem, Listing, LoggedChange, PastVersion, ShownItem,
    VersionPage, WriteOptions,
};
use domain::json::push_text;
use domain::{Collection, Item, ItemId, Verdict, Version, Violation, Violations};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::group::{Group, ItemLink};
use crate::groups::{Library, Proposals, ProposedPrograms, for_each_group};
use crate::query::{PageLinks, VersionsQuery};
use crate::rules;

/// RFC 3339 in UTC, always with microseconds, so that the texts sort as the times do.
pub const TIME: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

/// Room for a link to an item.
const LINK: usize = 128;

/// Room for what surrounds an item's members.
const ENVELOPE: usize = 1024;

/// What says that nothing was stored.
const DRY_RUN: &str = "\"dry_run\":true";

/// Room for what surrounds a page's items: links with cursors, mostly.
const COLLECTION_ENVELOPE: usize = 1536;

/// The URL of an item's collection as it was asked for.
#[must_use]
pub fn collection_url<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>) -> String {
    format!("{base_url}{}", G::collection_path(owner))
}

/// The URL of an item as it was asked for.
#[must_use]
pub fn item_url<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, id: ItemId) -> String {
    format!("{}/{id}", collection_url::<G>(base_url, owner))
}

/// An item, and what a representation of it has beside it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The item.
    pub item: &'a ShownItem,
    embedded: Option<&'a Embedded>,
    score: Option<f64>,
    snippet: Option<&'a str>,
    moment: Moment<'a>,
    remarks: Remarks<'a>,
}

/// What the business rules have to say of an item: nothing, some warnings, or everything.
#[derive(Clone, Copy, Default)]
struct Remarks<'a> {
    warnings: Option<&'a Violations>,
    errors: Option<&'a Violations>,
}

/// Which state of an item is shown.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// What there is.
    Now,
    /// What a write would have left that was only tried.
    Tried,
    /// What there was at a time (RFC 3339).
    At(&'a str),
    /// What a version was.
    Version(&'a PastVersion),
}

impl Moment<'_> {
    /// What a write leaves, or would leave.
    #[must_use]
    pub const fn of_write(options: &WriteOptions) -> Self {
        if options.is_dry_run { Self::Tried } else { Self::Now }
    }

    /// The latest version beside a version, and whether the item exists.
    #[must_use]
    pub const fn latest(self) -> Option<(Version, bool)> {
        match self {
            Self::Version(past) => Some((past.latest, past.exists)),
            _ => None,
        }
    }
}

impl<'a> Shown<'a> {
    const fn alone(item: &'a ShownItem) -> Self {
        Self {
            item,
            embedded: None,
            score: None,
            snippet: None,
            moment: Moment::Now,
            remarks: Remarks { warnings: None, errors: None },
        }
    }

    /// An item with what is embedded in it.
    #[must_use]
    pub const fn with(item: &'a ShownItem, embedded: &'a Embedded) -> Self {
        Self { embedded: Some(embedded), ..Self::alone(item) }
    }

    /// An item with everything that rules have to say of it.
    #[must_use]
    pub const fn examined(
        item: &'a ShownItem,
        embedded: &'a Embedded,
        verdict: &'a Verdict,
    ) -> Self {
        Self {
            remarks: Remarks { warnings: Some(&verdict.warnings), errors: Some(&verdict.errors) },
            ..Self::with(item, embedded)
        }
    }

    /// The same with warnings, if there are any.
    #[must_use]
    pub fn warned(self, warnings: &'a Violations) -> Self {
        let warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
        Self { remarks: Remarks { warnings, ..self.remarks }, ..self }
    }

    /// An item as a write left it, or would have, or as it was.
    #[must_use]
    pub const fn written(item: &'a ShownItem, moment: Moment<'a>) -> Self {
        Self { moment, ..Self::alone(item) }
    }

    fn listed(listed: &'a ListedItem, embedded: &'a Embedded, moment: Moment<'a>) -> Self {
        let (score, snippet) = (listed.score, listed.snippet.as_deref());
        Self { embedded: Some(embedded), score, snippet, moment, ..Self::alone(&listed.shown) }
    }
}

/// About how many bytes an item's representation has.
#[must_use]
pub fn item_size<G: Group>(shown: &Shown<'_>) -> usize {
    let embedded =
        shown.embedded.into_iter().flat_map(|embedded| embedded_items::<G>(shown.item, embedded));
    own_size(shown.item) + embedded.map(own_size).sum::<usize>()
}

/// All items that are embedded in an item, in the order they are shown in.
pub fn embedded_items<'a, G: Group>(
    shown: &'a ShownItem,
    embedded: &'a Embedded,
) -> impl Iterator<Item = &'a ShownItem> {
    G::embeds()
        .into_iter()
        .filter_map(|relation| embedded.of(relation, shown))
        .flat_map(EmbeddedItems::items)
}

fn own_size(shown: &ShownItem) -> usize {
    shown.item.members.len() + ENVELOPE + shown.relations.continued_by.len() * LINK
}

/// About how many bytes a page's representation has.
#[must_use]
pub fn collection_size<G: Group>(listing: &Listing) -> usize {
    let size = |listed: &ListedItem| {
        item_size::<G>(&Shown::with(&listed.shown, &listing.embedded))
            + listed.snippet.as_ref().map_or(0, String::len)
    };
    listing.items().iter().map(size).sum::<usize>() + COLLECTION_ENVELOPE
}

/// An item on its own, with what it is shown with.
#[must_use]
pub fn item<G: Group>(base_url: &BaseUrl, owner: Option<ItemId>, shown: &Shown<'_>) -> String {
    let mut out = String::with_capacity(item_size::<G>(shown));
    push_item::<G>(&mut out, base_url, &collection_url::<G>(base_url, owner), *shown);
    out
}

/// A page of a collection.
#[must_use]
pub fn collection<G: Group>(
    base_url: &BaseUrl,
    owner: Option<ItemId>,
    links: &PageLinks<'_>,
    listing: &Listing,
    moment: Moment<'_>,
    warnings: &Violations,
) -> String {
    let mut out = String::with_capacity(collection_size::<G>(listing));
    let url = collection_url::<G>(base_url, owner);
    out.push_str("{\"_links\":{");
    links.push(&mut out, &url, listing);
    let up = match (G::OWNER, owner) {
        (Some(of), Some(id)) => format!("{base_url}{}/{id}", of.path),
        _ => format!("{base_url}/"),
    };
    push_link(&mut out, "up", &up);
    close_links(&mut out);
    let name = G::COLLECTION.name();
    let _ = write!(out, ",\"_embedded\":{{\"{name}\":[");
    for (index, listed) in listing.items().iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_item::<G>(&mut out, base_url, &url, Shown::listed(listed, &listing.embedded, moment));
    }
    out.push_str("]}");
    push_counts(&mut out, listing);
    let is_at_least =
        matches!(listing.total, Total::AtLeast(_)).then(|| "\"total\":\"at_least\"".to_owned());
    let is_tried = matches!(moment, Moment::Tried).then(|| DRY_RUN.to_owned());
    let warned =
        (!warnings.is_empty()).then(|| format!("\"warnings\":{}", remarks(base_url, warnings)));
    let meta: Vec<_> = [is_at_least, is_tried, warned].into_iter().flatten().collect();
    if !meta.is_empty() {
        let _ = write!(out, ",\"_meta\":{{{}}}", meta.join(","));
    }
    out.push('}');
    out
}

/// What rules have to say, as `_meta` shows it: which one, where, and what.
fn remarks(base_url: &BaseUrl, said: &Violations) -> Value {
    let remark = |violation: &Violation| {
        let mut remark = json!({ "code": violation.code, "pointer": violation.pointer.to_string(), "message": violation.detail });
        if let Some(rule) = &violation.rule {
            remark["rule"] = rules::url(base_url, rule).into();
        }
        remark
    };
    said.iter().map(remark).collect()
}

/// What is known of how many items and pages there are.
fn push_counts(out: &mut String, listing: &Listing) {
    let Listing { page, page_size, page_count, total, .. } = listing;
    if let Some(page_count) = page_count {
        let _ = write!(out, ",\"page_count\":{page_count}");
    }
    let _ = write!(out, ",\"page_size\":{page_size}");
    if let Total::Exact(count) | Total::AtLeast(count) = total {
        let _ = write!(out, ",\"total_items\":{count}");
    }
    let _ = write!(out, ",\"page\":{page}");
}

fn push_item<G: Group>(
    out: &mut String,
    base_url: &BaseUrl,
    collection_url: &str,
    shown: Shown<'_>,
) {
    let Item { id, version, created_at, updated_at, members, .. } = &shown.item.item;
    let _ = write!(out, "{{\"id\":\"{id}\"");
    let own = &members[1..members.len() - 1];
    if !own.is_empty() {
        out.push(',');
        out.push_str(own);
    }
    out.push_str(",\"_links\":{");
    push_own_links(out, collection_url, shown);
    if matches!(shown.moment, Moment::Now | Moment::Tried) {
        for link in G::LINKS {
            push_relation::<G>(out, base_url, *link, shown.item);
        }
    }
    close_links(out);
    if let Some(embedded) = shown.embedded {
        push_embedded::<G>(out, base_url, shown.item, embedded);
    }
    let _ = write!(out, ",\"_meta\":{{\"version\":{version},\"created_at\":\"");
    push_time(out, created_at);
    out.push_str("\",\"updated_at\":\"");
    push_time(out, updated_at);
    out.push('"');
    match shown.moment {
        Moment::Now | Moment::At(_) => {}
        Moment::Tried => {
            let _ = write!(out, ",{DRY_RUN}");
        }
        Moment::Version(past) => push_change(out, &past.change),
    }
    // JSON has no word for what is no number.
    if let Some(score) = shown.score.filter(|score| score.is_finite()) {
        let _ = write!(out, ",\"score\":{score}");
    }
    if let Some(snippet) = shown.snippet {
        out.push_str(",\"snippet\":");
        push_text(out, snippet);
    }
    for (name, said) in [("warnings", shown.remarks.warnings), ("errors", shown.remarks.errors)] {
        if let Some(said) = said {
            let _ = write!(out, ",\"{name}\":{}", remarks(base_url, said));
        }
    }
    out.push_str("}}");
}

/// Appends the links of an item to itself, its collection and its versions (RFC 5829), each
/// followed by a comma.
fn push_own_links(out: &mut String, collection_url: &str, shown: Shown<'_>) {
    let Item { id, version, .. } = &shown.item.item;
    let item = format_args!("{collection_url}/{id}");
    let at = |version: i64| format!("{item}/versions/{version}");
    match shown.moment {
        Moment::Now | Moment::Tried => push_link(out, "self", &item),
        Moment::At(time) => {
            push_link(out, "self", &format_args!("{item}?as_of={time}"));
            push_link(out, "memento", &at(version.number()));
        }
        Moment::Version(_) => push_link(out, "self", &at(version.number())),
    }
    push_link(out, "collection", &collection_url);
    push_link(out, "version-history", &format_args!("{item}/versions"));
    let mut predecessor = Some(version.number() - 1).filter(|number| *number > 0);
    match shown.moment {
        Moment::Now | Moment::Tried => push_link(out, "latest-version", &item),
        Moment::At(_) => {}
        Moment::Version(past) => {
            if past.exists {
                push_link(out, "latest-version", &item);
            } else {
                push_link(out, "latest-version", &at(past.latest.number() - 1));
            }
            predecessor = past.predecessor().map(Version::number);
        }
    }
    if let Some(predecessor) = predecessor {
        push_link(out, "predecessor-version", &at(predecessor));
        if let Moment::Version(_) = shown.moment {
            push_link(
                out,
                "diff",
                &format_args!("{}/diff?from={predecessor}", at(version.number())),
            );
        }
    }
}

/// Appends what made a version.
fn push_change(out: &mut String, change: &LoggedChange) {
    let _ = write!(out, ",\"kind\":\"{}\",\"caller\":", change.kind.name());
    match &change.caller {
        Some(caller) => push_text(out, caller),
        None => out.push_str("null"),
    }
}

/// The versions of an item, as a collection.
#[must_use]
pub fn versions(item_url: &str, query: &VersionsQuery, page: &VersionPage) -> String {
    let url = format!("{item_url}/versions");
    let page_count = page.latest.number().unsigned_abs().div_ceil(query.page_size);
    let other = |number: u64| format!("{url}?page={number}&page_size={}", query.page_size);
    let mut out = String::from("{\"_links\":{");
    push_link(&mut out, "self", &other(query.page));
    push_link(&mut out, "first", &other(1));
    if query.page > 1 {
        push_link(&mut out, "prev", &other(query.page - 1));
    }
    if query.page < page_count {
        push_link(&mut out, "next", &other(query.page + 1));
    }
    push_link(&mut out, "last", &other(page_count));
    if page.exists {
        push_link(&mut out, "up", &item_url);
    }
    close_links(&mut out);
    out.push_str(",\"_embedded\":{\"versions\":[");
    for (index, version) in page.versions.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        push_version(&mut out, &url, version);
    }
    let VersionsQuery { page: number, page_size } = query;
    let _ = write!(
        out,
        "]}},\"page_count\":{page_count},\"page_size\":{page_size},\"total_items\":{},\"page\":{number}}}",
        page.latest
    );
    out
}

fn push_version(out: &mut String, url: &str, version: &LoggedChange) {
    let number = version.version.number();
    let _ = write!(out, "{{\"version\":{number},\"time\":\"");
    push_time(out, &version.time);
    out.push('"');
    push_change(out, version);
    out.push_str(",\"_links\":{");
    let at = |number: i64| format!("{url}/{number}");
    push_link(out, "self", &at(number));
    if let Some(predecessor) = version.predecessor() {
        push_link(out, "predecessor-version", &at(predecessor.number()));
        if version.kind != ChangeKind::Deleted {
            push_link(out, "diff", &format_args!("{}/diff?from={predecessor}", at(number)));
        }
    }
    close_links(out);
    out.push('}');
}

/// Appends what an item is shown with, if anything was asked for.
fn push_embedded<G: Group>(
    out: &mut String,
    base_url: &BaseUrl,
    shown: &ShownItem,
    embedded: &Embedded,
) {
    let mut is_first = true;
    for relation in G::COLLECTION.relations() {
        let Some(items) = embedded.of(relation, shown) else { continue };
        let name = relation.name;
        out.push_str(if is_first { ",\"_embedded\":{" } else { "" });
        is_first = false;
        match items {
            EmbeddedItems::One(None) => {}
            EmbeddedItems::One(Some(item)) => {
                let _ = write!(out, "\"{name}\":");
                push_under_own_path(out, base_url, relation.to, item);
                out.push(',');
            }
            EmbeddedItems::Many(items) => {
                let _ = write!(out, "\"{name}\":[");
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    push_under_own_path(out, base_url, relation.to, item);
                }
                out.push_str("],");
            }
        }
    }
    if !is_first {
        close_links(out);
    }
}

/// Appends an embedded item as it is shown in its own group, with nothing embedded in turn.
fn push_under_own_path(
    out: &mut String,
    base_url: &BaseUrl,
    collection: Collection,
    item: &ShownItem,
) {
    macro_rules! push {
        ($($group:path,)*) => {
            $(if <$group>::COLLECTION == collection && <$group>::OWNER.is_none() {
                let url = collection_url::<$group>(base_url, None);
                return push_item::<$group>(out, base_url, &url, Shown::alone(item));
            })*
        };
    }
    for_each_group!(push);
}

fn push_relation<G: Group>(
    out: &mut String,
    base_url: &BaseUrl,
    link: ItemLink,
    shown: &ShownItem,
) {
    match link {
        ItemLink::Library => {
            let proposal = Proposals::PATH;
            push_link(
                out,
                "lib",
                &format_args!("{base_url}{proposal}/{}{}", shown.item.id, Library::PATH),
            );
        }
        ItemLink::Program => {
            if let Some(program) = shown.relations.reference(0) {
                push_link(
                    out,
                    "program",
                    &format_args!("{base_url}{}/{program}", ProposedPrograms::PATH),
                );
            }
        }
        ItemLink::Proposal => {
            if let Some(proposal) = shown.item.parent {
                push_link(
                    out,
                    "proposal",
                    &format_args!("{base_url}{}/{proposal}", Proposals::PATH),
                );
            }
        }
        ItemLink::Continuations => push_continuations::<G>(out, base_url, shown),
    }
}

/// An item has continuations under its own group's path: nested groups have none.
fn push_continuations<G: Group>(out: &mut String, base_url: &BaseUrl, shown: &ShownItem) {
    if let Some(continued) = shown.relations.continues {
        push_link(out, "continues", &format_args!("{base_url}{}/{continued}", G::PATH));
    }
    if shown.relations.continued_by.is_empty() {
        return;
    }
    out.push_str("\"continued-by\":[");
    for (index, by) in shown.relations.continued_by.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"href\":\"{base_url}{}/{by}\"}}", G::PATH);
    }
    out.push_str("],");
}

/// Appends a link and a comma. The URL needs no escaping: base URLs, paths and identifiers hold no
/// such character.
pub(crate) fn push_link(out: &mut String, relation: &str, url: &impl std::fmt::Display) {
    let _ = write!(out, "\"{relation}\":{{\"href\":\"{url}\"}},");
}

/// Appends a link to a URL that holds what a client sent, and a comma.
pub(crate) fn push_escaped_link(out: &mut String, relation: &str, url: &str) {
    let _ = write!(out, "\"{relation}\":{{\"href\":");
    push_text(out, url);
    out.push_str("},");
}

/// Closes an object whose last member left a comma.
pub(crate) fn close_links(out: &mut String) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
}

fn push_time(out: &mut String, time: &Timestamp) {
    // Writing to a String cannot fail.
    let _ = TIME.print_timestamp(time, out);
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::query::CollectionQuery;
    use application::{ListedPage, Relations, Revision};

    const PROPOSAL: &str = "01890a5d-ac96-774b-bcce-b302099a8050";
    const PROGRAM: &str = "01890a5d-ac96-774b-bcce-b302099a8010";
    const LIBRARY_ITEM: &str = "01890a5d-ac96-774b-bcce-b302099a8061";

    fn shown(id: &str, parent: Option<&str>, program: Option<&str>) -> ShownItem {
        let item = Item {
            id: ItemId::parse(id).unwrap(),
            version: Version::FIRST,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            members: r#"{"a":1}"#.into(),
            parent: parent.and_then(ItemId::parse),
            continues: None,
        };
        ShownItem {
            item,
            relations: Relations {
                references: vec![program.and_then(ItemId::parse)],
                ..Relations::default()
            },
        }
    }

    fn base_url() -> BaseUrl {
        "http://example.org".parse().unwrap()
    }

    fn proposal(embedded: &Embedded) -> Value {
        let text = item::<Proposals>(
            &base_url(),
            None,
            &Shown::with(&shown(PROPOSAL, None, Some(PROGRAM)), embedded),
        );
        serde_json::from_str(&text).unwrap()
    }

    fn relations() -> [domain::Relation; 2] {
        let relations: Vec<_> = Proposals::COLLECTION.relations().collect();
        relations.try_into().expect("a library and a programme")
    }

    #[test]
    fn what_is_embedded_stands_under_its_own_path() {
        let library = vec![shown(LIBRARY_ITEM, Some(PROPOSAL), None)];
        let [lib, program] = relations();
        let embedded =
            Embedded::default().with(lib, library).with(program, vec![shown(PROGRAM, None, None)]);
        let whole = proposal(&embedded);
        let beside = &whole["_embedded"];
        assert_eq!(
            beside["lib"][0]["_links"]["self"]["href"],
            format!("http://example.org/lib/{LIBRARY_ITEM}")
        );
        assert_eq!(
            beside["lib"][0]["_links"]["proposal"]["href"],
            format!("http://example.org/v1/proposals/{PROPOSAL}")
        );
        assert_eq!(
            beside["program"]["_links"]["collection"]["href"],
            "http://example.org/v1/proposedprograms"
        );
        assert_eq!(beside["program"]["_meta"]["version"], 1);
    }

    #[test]
    fn what_there_is_none_of_is_left_out_or_empty() {
        let [lib, program] = relations();
        let asked = Embedded::default().with(lib, Vec::new()).with(program, Vec::new());
        assert_eq!(proposal(&asked)["_embedded"], json!({ "lib": [] }));
        assert_eq!(
            proposal(&Embedded::default().with(program, Vec::new()))["_embedded"],
            json!({})
        );
        assert_eq!(proposal(&Embedded::default()).get("_embedded"), None);
    }

    fn page(total: Total, page_count: Option<u64>) -> Value {
        let found = ListedItem {
            shown: shown(PROPOSAL, None, None),
            score: Some(0.25),
            snippet: Some("<mark>rice</mark> &amp; \"x\"".to_owned()),
        };
        let content = ListedPage {
            total,
            revision: Revision(1),
            items: vec![found],
            first: None,
            last: None,
            goes_on: false,
        };
        let listing = Listing {
            page: 1,
            page_size: 25,
            page_count,
            total,
            revision: Revision(1),
            content: content.into(),
            previous: None,
            next: None,
            embedded: Embedded::default(),
        };
        let links = CollectionQuery::plain::<Proposals>(None).links();
        serde_json::from_str(&collection::<Proposals>(
            &base_url(),
            None,
            &links,
            &listing,
            Moment::Now,
            &Violations::default(),
        ))
        .unwrap()
    }

    #[test]
    fn a_page_says_what_is_known_of_the_numbers() {
        for (total, page_count, expected) in [
            (
                Total::Exact(1),
                Some(1),
                json!({ "page_count": 1, "page_size": 25, "total_items": 1, "page": 1 }),
            ),
            (
                Total::AtLeast(10_000),
                None,
                json!({ "page_size": 25, "total_items": 10_000, "page": 1, "_meta": { "total": "at_least" } }),
            ),
            (Total::NotCounted, None, json!({ "page_size": 25, "page": 1 })),
        ] {
            let mut found = page(total, page_count);
            let links = found["_links"].take();
            assert_eq!(links.get("last").is_some(), page_count.is_some(), "{total:?}");
            assert!(links.get("first").is_some(), "{total:?}");
            let members = found.as_object_mut().unwrap();
            members.retain(|name, _| !["_links", "_embedded"].contains(&name.as_str()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_was_found_says_how_and_where() {
        let meta = page(Total::Exact(1), Some(1))["_embedded"]["proposals"][0]["_meta"].take();
        assert_eq!(
            (&meta["score"], &meta["snippet"]),
            (&json!(0.25), &json!("<mark>rice</mark> &amp; \"x\""))
        );
    }
}
