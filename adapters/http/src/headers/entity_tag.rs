//! Entity tags (RFC 9110 section 8.8.3) and conditional requests (section 13).
//!
//! An item's tag is `"<version>"`, or `"<version>-<hash>"` if the representation has links,
//! embedded items or hidden members, which change without a write of the item. The hash covers
//! them, so a stale copy never matches. `If-Match` compares the version only. A compressed
//! representation has the suffix `-gzip`.

use application::{Links, Named, PageRevision, Precondition, Revision, ShownItem, WriteOptions};
use domain::{Collection, ContentDigest, ItemId, Version};
use poem::http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use poem::http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use super::GZIP_SUFFIX;
use super::accept::{Coding, accepts_gzip};
use crate::hash::first_64_bits;
use crate::problem::{Problem, Result, kinds};

/// Strong, without the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(String);

impl EntityTag {
    pub fn of_item(version: Version, links: &Links) -> Self {
        Self::of_item_with(version, links, [])
    }

    pub fn of_item_with<'a>(
        version: Version,
        links: &Links,
        embedded: impl IntoIterator<Item = &'a ShownItem>,
    ) -> Self {
        let mut embedded = embedded.into_iter().peekable();
        if !has_links(links) && embedded.peek().is_none() {
            return Self(version.to_string());
        }
        let mut hash = Sha256::new();
        add_relations(&mut hash, links);
        for ShownItem { item, links } in embedded {
            hash.update(item.id.uuid());
            hash.update(item.version.number().to_be_bytes());
            add_relations(&mut hash, links);
        }
        Self(format!("{version}-{:016x}", first_64_bits(hash)))
    }

    /// Tags of past states never match a current state, so no write passes with them.
    pub fn of_past(version: Version, latest: Option<(Version, bool)>, is_bodiless: bool) -> Self {
        match latest {
            None if is_bodiless => Self(format!("v{version}-bodiless")),
            Some((latest, exists)) => {
                Self(format!("v{version}-{latest}{}", if exists { "" } else { "-removed" }))
            }
            None => Self(format!("v{version}")),
        }
    }

    /// The tag after a dry run never matches an item, so conditions with it fail.
    pub fn of_write(self, options: &WriteOptions) -> Self {
        if options.is_dry_run { Self(format!("{}-dry-run", self.0)) } else { self }
    }

    /// Includes the collections that the caller does not see: callers with other rights get other
    /// tags.
    pub fn of_collection(page: &PageRevision) -> Self {
        let mut tag = format!("r{}", page.revision.0);
        for collection in &page.unseen {
            tag.extend(["-", collection.name()]);
        }
        Self(tag)
    }

    /// The tag of a page with items or links that depend on the caller. A collection that the
    /// caller sees in part has no revision: it also counts other writes.
    pub fn of_seen_page(page: Option<&PageRevision>, hash: u64) -> Self {
        let revision = page.map_or_else(|| "p".to_owned(), |page| Self::of_collection(page).0);
        Self(format!("{revision}-{hash:016x}"))
    }

    /// Commits may become visible in another order at a standby, so the same revision may be
    /// another state there. A standby's tag never matches a condition on a write.
    pub fn read_at(self, is_standby: bool) -> Self {
        if is_standby { Self(format!("s{}", self.0)) } else { self }
    }

    pub fn of_content(content: &[u8]) -> Self {
        Self(format!("{:016x}", Self::hash(content)))
    }

    pub fn of_digest(digest: &ContentDigest) -> Self {
        Self(digest.to_string())
    }

    pub fn hash(content: &[u8]) -> u64 {
        first_64_bits(Sha256::new_with_prefix(content))
    }

    pub fn of_edition(edition: &str, coding: Option<Coding>) -> Self {
        let coding = coding.map(|coding| format!("-{}", coding.name())).unwrap_or_default();
        Self(format!("{edition}{coding}"))
    }

    pub fn header(&self) -> HeaderValue {
        quoted(&self.0)
    }

    /// Uses weak comparison (section 13.1.2). Returns the tag that the client has, for the 304; it
    /// may be the compressed one.
    pub fn known_to(&self, headers: &HeaderMap) -> Result<Option<Self>> {
        Ok(match tags(headers, &IF_NONE_MATCH)? {
            None => None,
            Some(Named::Any) => Some(self.clone()),
            Some(Named::OneOf(tags)) => {
                // A client that does not accept gzip now may not use its compressed copy.
                let matches = |tag: &ClientTag| {
                    tag.opaque == self.0 || (tag.plain() == self.0 && accepts_gzip(headers))
                };
                tags.into_iter().find(matches).map(|tag| Self(tag.opaque))
            }
        })
    }
}

fn has_links(links: &Links) -> bool {
    let Links { continues, continued_by, references, hides_parent, cut } = links;
    let are_some = continues.is_some() || !continued_by.is_empty() || *hides_parent;
    are_some || cut.is_some() || references.iter().any(Option::is_some)
}

/// A length precedes each list, so that different links hash differently. The hash format must not
/// change: clients keep tags across releases.
fn add_relations(hash: &mut Sha256, links: &Links) {
    let Links { continues, continued_by, references, hides_parent, cut } = links;
    // Unresolved references count only before a resolved one.
    let references: Vec<_> = references.iter().map(|id| id.unwrap_or(ItemId::NIL)).collect();
    let named = references.iter().rposition(|id| *id != ItemId::NIL).map_or(0, |last| last + 1);
    for ids in [continues.as_slice(), continued_by, &references[..named]] {
        hash.update((ids.len() as u64).to_be_bytes());
        for id in ids {
            hash.update(id.uuid());
        }
    }
    if *hides_parent {
        hash.update([1]);
    }
    if let Some(members) = cut {
        hash.update([2]);
        hash.update((members.len() as u64).to_be_bytes());
        hash.update(members.as_bytes());
    }
}

pub fn compressed(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    Some(quoted(&format!("{opaque}{GZIP_SUFFIX}")))
}

/// Weak tags never match in `If-Match` (strong comparison, RFC 9110 section 13.1.1), but do in
/// `If-None-Match`. Tags that this service cannot produce match in neither.
pub fn item_precondition(headers: &HeaderMap) -> Result<Precondition<Version>> {
    precondition(headers, |opaque| {
        let (version, hash) =
            opaque.split_once('-').map_or((opaque, None), |(version, hash)| (version, Some(hash)));
        let is_ours = hash.is_none_or(is_hash);
        number(version).filter(|_| is_ours).map(Version::from_number)
    })
}

/// The tag of a content is its digest, in every version.
pub fn content_precondition(headers: &HeaderMap) -> Result<Precondition<ContentDigest>> {
    precondition(headers, ContentDigest::parse)
}

pub fn collection_precondition(headers: &HeaderMap) -> Result<Precondition<PageRevision>> {
    precondition(headers, |opaque| {
        let mut parts = opaque.strip_prefix('r')?.split('-');
        let revision = Revision(number(parts.next()?)?);
        // A hash of the content covers links to other collections, which a write does not change.
        let unseen = parts.filter(|part| !is_hash(part)).map(Collection::named);
        let unseen = unseen.collect::<Option<_>>()?;
        Some(PageRevision { revision, unseen })
    })
}

fn precondition<T>(
    headers: &HeaderMap,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Precondition<T>> {
    let named = |name: &HeaderName, takes_weak: bool| {
        Ok::<_, Problem>(tags(headers, name)?.map(|tags| match tags {
            Named::Any => Named::Any,
            Named::OneOf(tags) => {
                let taken = tags.iter().filter(|tag| takes_weak || !tag.is_weak);
                Named::OneOf(taken.filter_map(|tag| read(tag.plain())).collect())
            }
        }))
    };
    Ok(Precondition { is: named(&IF_MATCH, false)?, is_not: named(&IF_NONE_MATCH, true)? })
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Digits only, without leading zeros.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| *number >= 0 && number.to_string() == text)
}

struct ClientTag {
    opaque: String,
    is_weak: bool,
}

impl ClientTag {
    fn plain(&self) -> &str {
        self.opaque.strip_suffix(GZIP_SUFFIX).unwrap_or(&self.opaque)
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Named<ClientTag>>> {
    if !headers.contains_key(name) {
        return Ok(None);
    }
    let malformed = || {
        let detail = format!(
            "The {name} header must be * or a list of entity tags in double quotes, as in ETag, such as \"3\"."
        );
        Problem::new(&kinds::MALFORMED_CONDITION, detail)
    };
    let lines: Result<Vec<_>, _> = headers.get_all(name).iter().map(HeaderValue::to_str).collect();
    let list = lines.map_err(|_| malformed())?.join(",");
    if list.trim() == "*" {
        return Ok(Some(Named::Any));
    }
    listed(&list).map(|tags| Some(Named::OneOf(tags))).ok_or_else(malformed)
}

/// Opaque parts are between quotes. Commas and `W/` are outside.
fn listed(list: &str) -> Option<Vec<ClientTag>> {
    let are_separators = |part: &str| part.bytes().all(|byte| b" \t,".contains(&byte));
    let mut parts: Vec<_> = list.split('"').collect();
    let end = parts.pop()?;
    let tag = |(index, parts): (usize, &[&str])| {
        let &[before, opaque] = parts else { return None };
        let (before, is_weak) =
            before.strip_suffix("W/").map_or((before, false), |before| (before, true));
        let is_separate = are_separators(before) && (index == 0 || before.contains(','));
        let is_tag = is_separate && !opaque.contains(' ');
        is_tag.then(|| ClientTag { opaque: opaque.to_owned(), is_weak })
    };
    let tags: Vec<_> = parts.chunks(2).enumerate().map(tag).collect::<Option<_>>()?;
    (!tags.is_empty() && are_separators(end)).then_some(tags)
}

fn quoted(opaque: &str) -> HeaderValue {
    let quoted = ["\"", opaque, "\""].concat().try_into();
    quoted.unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

#[cfg(test)]
mod tests {
    use application::{Links, Named, PageRevision, Precondition, Revision, ShownItem};
    use domain::{Collection, ItemId, Version};
    use poem::http::header::{ACCEPT_ENCODING, IF_MATCH, IF_NONE_MATCH};
    use poem::http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::{EntityTag, collection_precondition, compressed, item_precondition};
    use crate::app::tests::item;
    use crate::headers::sent;

    fn revision(number: i64, unseen: &[Collection]) -> PageRevision {
        PageRevision { revision: Revision(number), unseen: unseen.to_vec() }
    }

    #[test]
    fn conditions_on_a_write_compare_versions() {
        let versions = |numbers: &[i64]| {
            Named::OneOf(numbers.iter().copied().map(Version::from_number).collect())
        };
        let one_of =
            |numbers: &[i64]| Some(Precondition { is: Some(versions(numbers)), is_not: None });
        let none_of =
            |numbers: &[i64]| Some(Precondition { is: None, is_not: Some(versions(numbers)) });
        let no_versions =
            "\"03\", \"3-\", \"3-zz\", \"+3\", \"3-dry-run\", \"3-0123456789abcdef-dry-run\"";
        for (name, line, expected) in [
            (IF_MATCH, "\"3\"", one_of(&[3])),
            (IF_MATCH, "\"3-0123456789abcdef\"", one_of(&[3])),
            (IF_MATCH, "\"3-gzip\"", one_of(&[3])),
            (IF_MATCH, "\"3\", \"4\" ,\"x\"", one_of(&[3, 4])),
            (IF_MATCH, "W/\"3\"", one_of(&[])),
            (IF_MATCH, no_versions, one_of(&[])),
            (IF_MATCH, "*", Some(Precondition { is: Some(Named::Any), is_not: None })),
            (IF_MATCH, "3", None),
            (IF_MATCH, "\"3", None),
            (IF_MATCH, "\"3\" \"4\"", None),
            (IF_MATCH, "*, \"3\"", None),
            (IF_MATCH, "", None),
            (IF_NONE_MATCH, "W/\"3\", \"4-gzip\", \"x\"", none_of(&[3, 4])),
            (IF_NONE_MATCH, "", None),
        ] {
            assert_eq!(item_precondition(&sent(name, &[line])).ok(), expected, "{line}");
        }
        assert_eq!(item_precondition(&HeaderMap::new()).ok(), Some(Precondition::NONE));
        let tags =
            "\"r12\", \"12\", W/\"r13\", \"sr14\", \"r1-lib-proposals\", \"r1-dry-run\", \"r1-\"";
        let lib_and_proposals = ["lib", "proposals"].map(Collection::known);
        assert_eq!(
            collection_precondition(&sent(IF_MATCH, &[tags])).ok(),
            Some(Precondition::one_of(vec![revision(12, &[]), revision(1, &lib_and_proposals)]))
        );
    }

    fn embedded(version: i64, links: Links) -> ShownItem {
        ShownItem { item: item("01890a5d-ac96-774b-bcce-b302099a8010", version), links }
    }

    #[test]
    fn a_tag_changes_with_what_is_embedded_and_with_what_is_hidden() {
        let version = Version::from_number(3);
        let tag =
            |embedded: &[ShownItem]| EntityTag::of_item_with(version, &Links::default(), embedded);
        let linked = Links {
            references: vec![ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8010")],
            ..Links::default()
        };
        let hidden = Links { hides_parent: true, ..Links::default() };
        let tags = [
            EntityTag::of_item(version, &hidden),
            tag(&[embedded(1, hidden)]),
            tag(&[]),
            tag(&[embedded(1, Links::default())]),
            tag(&[embedded(2, Links::default())]),
            tag(&[embedded(1, linked)]),
            tag(&[embedded(1, Links::default()), embedded(1, Links::default())]),
        ];
        for (index, one) in tags.iter().enumerate() {
            assert!(!tags[..index].contains(one), "{index}");
            let sent_back = HeaderMap::from_iter([(IF_MATCH, one.header())]);
            assert_eq!(
                item_precondition(&sent_back).ok(),
                Some(Precondition::one_of(vec![version])),
                "the version alone counts"
            );
        }
    }

    /// Tags outlive a process and its compiler.
    #[test]
    fn a_tag_is_the_same_in_every_version_of_the_service() {
        assert_eq!(EntityTag::of_content(b"abc").header(), "\"ba7816bf8f01cfea\"");
        let program = ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8010");
        for references in [vec![program], vec![program, None]] {
            let links = Links { references, ..Links::default() };
            let tag = EntityTag::of_item(Version::from_number(3), &links);
            assert_eq!(tag.header(), "\"3-98256fabfc5ca0a3\"");
        }
        let unlinked = Links { references: vec![None], ..Links::default() };
        assert_eq!(EntityTag::of_item(Version::from_number(3), &unlinked).header(), "\"3\"");
    }

    #[test]
    fn a_compressed_tag_is_known_to_clients_that_take_it() {
        let tag = EntityTag::of_item(Version::from_number(3), &Links::default());
        let known = |headers: &HeaderMap| tag.known_to(headers).unwrap().map(|tag| tag.header());
        for line in ["\"1\", \"3-gzip\"", "\"3-0\""] {
            assert_eq!(known(&sent(IF_NONE_MATCH, &[line])), None, "{line}");
        }
        let mut takes_gzip = sent(IF_NONE_MATCH, &["\"1\", \"3-gzip\""]);
        takes_gzip.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(known(&takes_gzip), Some(HeaderValue::from_static("\"3-gzip\"")));
        assert_eq!(tag.header(), "\"3\"");
    }

    fn header_value() -> impl Strategy<Value = HeaderValue> {
        let pieces = ["\"", "W/", "1", "r1", "-", "0123456789abcdef", "gzip", ",", " ", "*"];
        let nearly = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12)
            .prop_map(|pieces| pieces.concat().into_bytes());
        let any = prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![nearly, any]
            .prop_filter_map("no header can hold it", |bytes| HeaderValue::from_bytes(&bytes).ok())
    }

    proptest! {
        #[test]
        fn a_tag_that_was_given_matches_itself(number in 0..i64::MAX, other in 0..i64::MAX) {
            let (item, collection) = (EntityTag::of_item(Version::from_number(number), &Links::default()), EntityTag::of_collection(&revision(number, &[Collection::known("lib")])));
            let if_match = |tag: &HeaderValue| HeaderMap::from_iter([(IF_MATCH, tag.clone())]);
            for tag in [item.header(), compressed(&item.header()).unwrap()] {
                prop_assert_eq!(item_precondition(&if_match(&tag)).ok(), Some(Precondition::one_of(vec![Version::from_number(number)])));
            }
            prop_assert_eq!(collection_precondition(&if_match(&collection.header())).ok(), Some(Precondition::one_of(vec![revision(number, &[Collection::known("lib")])])));
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, EntityTag::of_item(Version::from_number(other), &Links::default()).header())]);
            prop_assert_eq!(item.known_to(&headers).unwrap().is_some(), number == other);
        }

        #[test]
        fn any_value_names_only_the_tags_in_it(line in header_value()) {
            let headers = HeaderMap::from_iter([(IF_MATCH, line.clone())]);
            match item_precondition(&headers).map(|condition| condition.is) {
                Ok(Some(Named::OneOf(versions))) => {
                    let text = line.to_str().unwrap();
                    prop_assert!(versions.iter().all(|version| text.contains(&version.to_string())), "{versions:?} of {text}");
                }
                Ok(Some(Named::Any)) => prop_assert_eq!(line.to_str().unwrap().trim(), "*"),
                Ok(None) => prop_assert!(false, "a condition was sent"),
                Err(_) => {}
            }
        }
    }
}
