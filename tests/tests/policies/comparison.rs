//! A caller gets the answers of a service without limits over a store of the items that the caller may read.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::process::Command;

use fastrand::Rng;
use serde_json::{Value, json};
use tests::random_query::one;
use tests::stores::TestDatabase;
use tests::tool::done;
use tests::{Answer, Service, Store};

use crate::building::{WORDS, collection_of};
use crate::model::{Caller, Item, Model};
use crate::policies::{CALLERS_HIDDEN, PolicySet};
use crate::requests::{Asked, Subjects, search, workbook};
use crate::scene::{Scene, for_each_caller};
use crate::world::GROUPS;

const ALL_READ: &str = "policies:
  - id: all_read
    group: [proposedprograms, statuses, proposals, lib, files, cashprogram, gadscores, status]
    allow: [read, history]
    to: [anyone]
";

/// The most pages that are read by links.
const PAGES: usize = 4;

/// A store of the items that a caller may read, and a service without limits over it.
struct Copy {
    service: Service,
    /// The visible items all of whose versions the caller may read.
    whole: HashSet<String>,
    /// True if the caller sees all versions of every visible item, and none of a deleted one.
    is_whole: bool,
    /// False if changes are withdrawn where the other service shows deletions.
    has_same_feed: bool,
    _database: TestDatabase,
}

impl Copy {
    fn new(store: Store, scene: &Scene, set: &PolicySet, caller: Caller) -> Self {
        let (world, model) = (&scene.world, &scene.model);
        let visible = |item: &Item| model.sees(&set.reading, caller, item);
        let seen: HashSet<_> =
            model.items.values().filter(|it| visible(it)).map(|it| it.id.as_str()).collect();
        let sight = model.sight(&set.reading, caller);
        let seen_versions = |item: &Item| {
            let numbered = item.versions.iter().zip(1..).filter(|(members, _)| members.is_some());
            numbered
                .map(|(_, number)| sight.contains(&(item.id.clone(), number)))
                .collect::<Vec<_>>()
        };
        let is_whole = |item: &&Item| seen_versions(item).into_iter().all(|is_seen| is_seen);
        let (visible_items, hidden_items): (Vec<_>, Vec<_>) =
            model.items.values().partition(|it| visible(it));
        let is_seen_in_part = |it: &Item| seen_versions(it).into_iter().any(|is_seen| is_seen);
        let is_deleted = |it: &Item| it.current().is_none();
        let is_all_whole = visible_items.iter().all(is_whole)
            && !hidden_items.iter().any(|it| is_deleted(it) && is_seen_in_part(it));
        let is_never_deleted = |it: &&Item| it.versions.iter().all(Option::is_some);
        let database = copy(store, scene, &|change| {
            let is_seen = seen.contains(change["item_id"].as_str().unwrap());
            if is_seen {
                remove_hidden(change, &seen, &hidden_in(change, model, set, caller));
            }
            is_seen
        });
        let policies = world.callers.write_file("all.yaml", ALL_READ);
        let own = world.callers.arguments();
        let arguments = [&own.each_ref().map(String::as_str)[..], &["--policies", &policies]];
        Self {
            service: Service::start_on_with(&database, &arguments.concat()),
            whole: visible_items
                .iter()
                .filter(|it| is_whole(it))
                .map(|item| item.id.clone())
                .collect(),
            is_whole: is_all_whole,
            has_same_feed: is_all_whole
                && !hidden_items.iter().any(|it| is_seen_in_part(it))
                && visible_items.iter().all(is_never_deleted),
            _database: database,
        }
    }
}

/// Copies a store with the changes that `keep` accepts, as it leaves them.
fn copy(store: Store, scene: &Scene, keep: &dyn Fn(&mut Value) -> bool) -> TestDatabase {
    let world = &scene.world;
    let file = world.callers.path("copy.jsonl");
    let exported = done(&["export", "--database-url", world.service.database().unwrap().url()]);
    let exported = String::from_utf8(exported).unwrap();
    let mut lines = exported.lines();
    let mut changes = format!("{}\n", lines.next().unwrap());
    let mut sequence = 0;
    for line in lines {
        let mut change: Value = serde_json::from_str(line).unwrap();
        if change.get("item_id").is_none() {
            break;
        }
        if keep(&mut change) {
            sequence += 1;
            change["sequence"] = sequence.into();
            changes += &(change.to_string() + "\n");
        }
    }
    fs::write(&file, &changes).unwrap();
    let sum = Command::new("sha256sum").arg(&file).output().unwrap().stdout;
    let sum = String::from_utf8(sum).unwrap();
    let trailer = json!({ "changes": sequence, "sha256": sum[..64] });
    fs::write(&file, format!("{changes}{trailer}\n")).unwrap();
    let database = TestDatabase::of(store);
    done(&["import", file.to_str().unwrap(), "--database-url", database.url()]);
    database
}

/// Removes relations to items that are not seen, and hidden members.
fn remove_hidden(change: &mut Value, seen: &HashSet<&str>, hidden: &BTreeSet<&str>) {
    for relation in ["parent", "continues"] {
        if change[relation].as_str().is_some_and(|id| !seen.contains(id)) {
            change[relation] = Value::Null;
        }
    }
    for name in hidden {
        if *name == CALLERS_HIDDEN {
            for author in ["caller", "acting", "client", "request_id"] {
                change[author] = Value::Null;
            }
        } else if let Some(members) = change["members"].as_object_mut() {
            members.shift_remove(*name);
        }
    }
}

/// Changes, removes or adds hidden members that decide on no other right.
fn alter_hidden(random: &mut Rng, change: &mut Value, hidden: &BTreeSet<&str>) {
    if hidden.contains(CALLERS_HIDDEN) {
        change["client"] = one(random, &["one", "two"]).into();
        change["request_id"] = random.u64(..).to_string().into();
    }
    let Some(members) = change["members"].as_object_mut() else { return };
    for name in hidden.iter().filter(|name| ![CALLERS_HIDDEN, "rating"].contains(*name)) {
        let value = match *name {
            "start_date" => json!(format!("20{}-02-03", random.u8(10..30))),
            "jan_amount" => json!(format!("{}.00", random.u16(..900))),
            "year" => json!(random.u16(2020..2030)),
            _ => json!(one(random, &["rice canary", "approved", "zebra", "red"])),
        };
        if random.u8(..4) == 0 {
            members.shift_remove(*name);
        } else {
            members.insert((*name).to_owned(), value);
        }
    }
}

/// The members of a version that are hidden; of a deletion those of the version before.
fn hidden_in(
    change: &Value,
    model: &Model,
    set: &PolicySet,
    caller: Caller,
) -> BTreeSet<&'static str> {
    let item = &model.items[change["item_id"].as_str().unwrap()];
    let version = usize::try_from(change["version"].as_u64().unwrap()).unwrap();
    let bodies = item.versions[..version].iter();
    let Some(members) = bodies.rev().find_map(Option::as_ref) else { return BTreeSet::new() };
    model.hidden(&set.hiding, caller, item, members)
}

/// Returns the content of an answer without the identifiers of a store.
fn comparable(answer: &Answer, service: &Service) -> String {
    let origin = format!("http://{}", service.address());
    let body =
        if answer.body.starts_with(b"PK") { workbook(&answer.body) } else { answer.body.to_vec() };
    let mut text = String::from_utf8_lossy(&body).replace(&origin, "");
    // The version in an export names the history of the store.
    let starts = ["cursor=", "after=", "\"cursor\":\"", "@", "data-tag=\"&#34;"];
    text = without(text, &starts);
    format!("{} {:?}\n{text}", answer.status, answer.header("content-type"))
}

/// Removes what follows the beginnings, up to the end of the value.
fn without(mut text: String, starts: &[&str]) -> String {
    for start in starts {
        let mut parts = text.split(start);
        let mut without = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(['&', '"', '>', '\\', ',', '}']).unwrap_or(part.len());
            without += start;
            without += &part[end..];
        }
        text = without;
    }
    text
}

/// The operations that a caller may perform on some items.
struct Rights<'a> {
    access: Value,
    set: &'a PolicySet,
    copy: &'a Copy,
}

impl Rights<'_> {
    fn may(&self, group: &str, operation: &str) -> bool {
        let has_some = self.access["groups"][group][operation]["extent"] != "none";
        has_some && (operation == "read" || self.set.has_history_of_all)
    }

    fn are_comparable(&self, target: &str) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let group = GROUPS.into_iter().find(|group| {
            let below = path.strip_prefix(&collection_of(group));
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
                || path.starts_with(&format!("/exports/{group}."))
        });
        let is_below = path.starts_with("/v1/proposals/") && path.contains("/lib");
        let groups: Vec<_> = group.into_iter().chain(is_below.then_some("lib")).collect();
        let may = |operation| groups.iter().all(|group| self.may(group, operation));
        let is_past = path.contains("/versions") || query.contains("as_of=");
        let id = path.split('/').rfind(|part| part.len() == 36);
        let is_whole = match id {
            Some(id) if !is_below => self.copy.whole.contains(id),
            _ => self.copy.is_whole,
        };
        // Without the right to any proposal, the library has no column for them.
        let has_columns = !path.ends_with("lib.csv") || self.may("proposals", "read");
        group.is_some()
            && may("read")
            && (!is_past || (is_whole && may("history")))
            && has_columns
            && !path.contains(".xlsx")
    }
}

impl Scene {
    fn compare(&mut self, copy: &Copy, set: &PolicySet, caller: Caller, count: usize) {
        let access = self.world.get(caller.name, "/v1/access").value();
        let rights = Rights { access, set, copy };
        let mut targets = Vec::new();
        for group in GROUPS {
            targets.extend([collection_of(group), format!("/exports/{group}.ndjson")]);
        }
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        let asked = subjects.random(&mut self.random, count).into_iter();
        targets.extend(asked.filter(Asked::is_plain).map(|asked| asked.target));
        targets.retain(|target| rights.are_comparable(target));
        // A hidden member need not be valid. A caller with hidden members gets the newest matches first.
        let is_about_hidden = |target: &String| {
            target.contains("check=") || target.contains("q=") && !target.contains("sort=")
        };
        targets.retain(|target| set.hiding.is_empty() || !is_about_hidden(target));
        let readable =
            GROUPS.into_iter().filter(|group| copy.has_same_feed && rights.may(group, "read"));
        targets.extend(readable.map(|group| format!("/v1/changes?group={group}")));
        println!(
            "{} {}: {} requests, whole: {}",
            set.name,
            caller.name,
            targets.len(),
            copy.is_whole
        );
        for target in targets {
            self.compare_pages(copy, set, caller, target);
        }
    }

    /// Hidden members have other values in a copy, and no answer differs.
    fn compare_altered(&mut self, store: Store, set: &PolicySet, caller: Caller, count: usize) {
        let random = RefCell::new(self.random.fork());
        let database = copy(store, self, &|change| {
            let hidden = hidden_in(change, &self.model, set, caller);
            alter_hidden(&mut random.borrow_mut(), change, &hidden);
            true
        });
        let own = self.world.callers.arguments();
        let policies = self.world.callers.path("policies");
        let policies = ["--policies", policies.to_str().unwrap()];
        let arguments = [&own.each_ref().map(String::as_str)[..], &policies].concat();
        let service = Service::start_on_with(&database, &arguments);
        let subjects = Subjects::new(&self.model, &set.reading, caller, &self.middle);
        let mut asked = subjects.random(&mut self.random, count);
        let groups: BTreeSet<_> = set.hiding.iter().map(|policy| policy.group).collect();
        for group in groups {
            let path = collection_of(group);
            asked.extend(WORDS.iter().map(|word| Asked::get(format!("{path}?{}", search(word)))));
        }
        for asked in asked.into_iter().filter(Asked::is_read) {
            let services = [&self.world.service, &service];
            let answers =
                services.map(|service| asked.answer_of(&self.world, service, caller.name));
            let [own, other] = [0, 1].map(|it| {
                // Other tags cover the address of the service.
                let tag = answers[it].header("etag").and_then(|tag| tag.split('.').next());
                let is_of_item = |tag: &&str| tag.split('-').next().is_some_and(|it| it.len() < 9);
                let tag = tag.filter(|tag| is_of_item(tag) && tag.as_bytes()[1].is_ascii_digit());
                format!("{tag:?} {}", comparable(&answers[it], services[it]))
            });
            if own != other {
                self.faults.push(format!(
                    "{} under {}: hidden members differ: {asked:?}\n{own}\n--- with other values:\n{other}",
                    caller.name, set.name
                ));
            }
        }
    }

    fn compare_pages(&mut self, copy: &Copy, set: &PolicySet, caller: Caller, target: String) {
        let mut pages = [target.clone(), target];
        for _ in 0..PAGES {
            let services = [&self.world.service, &copy.service];
            let ask = |number: usize| {
                let request = services[number].get(&pages[number]);
                self.world.callers.sign(caller.name, request).send_unchecked()
            };
            let answers = [ask(0), ask(1)];
            let [own, other] = [0, 1].map(|it| {
                let text = comparable(&answers[it], services[it]);
                if set.hiding.is_empty() { text } else { without(text, &["\"score\":"]) }
            });
            let [status, other_status] = [0, 1].map(|it| answers[it].status);
            // Anonymous callers may see it after they sign in. To a caller who does not see all
            // proposals, the proposal in the path is missing, and not the item.
            let is_missing = other_status == 404
                && (status == 404 || (status == 401 && caller.name == "anonymous"));
            if own != other && !is_missing {
                self.faults.push(format!(
                    "{} under {}: answers differ: {}\n{own}\n--- of the service over the readable items:\n{other}",
                    caller.name, set.name, pages[0]
                ));
                break;
            }
            let [Some(own), Some(other)] = answers.each_ref().map(next_of) else { break };
            pages = [own, other];
        }
    }
}

fn next_of(answer: &Answer) -> Option<String> {
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    let next = answer.path_of(value["_links"]["next"]["href"].as_str()?);
    // A page of changes always has a link.
    (!next.starts_with("/v1/changes")).then_some(next)
}

#[test]
fn a_caller_sees_what_a_store_of_it_shows() {
    for_each_caller(2, |store, scene, set, caller, sizes| {
        let copy = Copy::new(store, scene, set, caller);
        scene.compare(&copy, set, caller, sizes.requests);
    });
}

#[test]
fn an_answer_does_not_depend_on_members_that_the_caller_may_not_see() {
    for_each_caller(1, |store, scene, set, caller, sizes| {
        if !set.hiding.is_empty() {
            scene.compare_altered(store, set, caller, sizes.requests);
        }
    });
}
