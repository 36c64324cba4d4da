//! The first page: counts, latest changes, and the state of the service.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use application::query::Total;
use application::{Caller, PageRequest, ValueCount, ValueCounts};
use askama::Template;
use domain::{Collection, CountedMember, ItemId, Operation, SummedMembers};
use jiff::civil::Date;
use poem::Request;
use serde_json::{Value, json};

use super::cells::capitalized;
use super::changes::ChangeRow;
use super::charts::{Chart, Count};
use super::links::escaped;
use super::page::{Layout, place_in_menu, render};
use super::reader::{Reader, ShownTime};
use super::{Deployment, ExploredGroup, Explorer};
use crate::groups::{GROUPS, Group};
use crate::links::CHANGE_STREAM;
use crate::problem::Result;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;

const VALUES: u64 = 100;

const SUMS: u64 = 1200;

const YEARS: usize = 2;

const CHANGES: u64 = 10;

const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Template)]
#[template(path = "explorer/overview.html")]
struct OverviewPage<'a> {
    layout: Layout<'a>,
    /// With their labels, addresses and numbers of items.
    groups: Vec<(Group, String, String, String)>,
    charts: Vec<Chart>,
    counted_at: Option<ShownTime>,
    changes: Vec<ChangeRow>,
    stream: String,
    deployment: &'a Deployment,
    failed_files: Vec<String>,
    rules: usize,
    is_ready: bool,
    /// True if there are no items, and the caller may create some.
    is_empty: bool,
    /// The examples of the documentation as JSON. `None` if the caller may not create them all.
    examples: Option<String>,
}

impl Explorer {
    pub(super) async fn show_overview(&self, request: &Request) -> Result<String> {
        refuse_parameters(request)?;
        let caller = caller_of(request);
        let layout = self.layout(request, "Overview", "overview", None);
        let reader = &layout.reader;
        let mut groups = Vec::with_capacity(self.groups.len());
        let mut readable: Vec<_> = self.readable(caller).collect();
        // As in the menu.
        readable.sort_by_key(|known| place_in_menu(known.group.collection));
        for known in readable {
            let href = self.links.collection(known.group.collection);
            let label = reader.group(known.group.collection).to_owned();
            groups.push((known.group, label, href, count(caller, known, reader).await?));
        }
        let is_empty = !groups.is_empty() && groups.iter().all(|(.., total)| total == "0");
        let proposals = Collection::known("proposals");
        let (charts, counted_at) = self.charts(caller, reader).await?;
        let check = tokio::time::timeout(PATIENCE, self.store.check()).await;
        render(&OverviewPage {
            groups,
            charts,
            counted_at,
            changes: self.latest_changes(caller, None, CHANGES, reader).await?,
            stream: self.links.to(CHANGE_STREAM),
            deployment: &self.deployment,
            failed_files: self.deployment.failed_files(),
            rules: self.context.changing.catalog.list(caller).len(),
            is_empty: is_empty && self.may(caller, proposals, Operation::Create),
            examples: self.examples(caller),
            is_ready: matches!(check, Ok(Ok(()))),
            layout,
        })
    }

    fn readable(&self, caller: &Caller) -> impl Iterator<Item = &ExploredGroup> {
        self.groups.iter().filter(|known| self.may(caller, known.group.collection, Operation::Read))
    }

    /// A later example names earlier ones only.
    fn examples(&self, caller: &Caller) -> Option<String> {
        let may_create = |collection| self.may(caller, collection, Operation::Create);
        if !Collection::all().all(may_create) {
            return None;
        }
        let is_own = |group: &Group| group.is_nested() == group.collection.parent().is_some();
        let mut groups: Vec<Group> = GROUPS.iter().filter(is_own).collect();
        let is_named = |collection: Collection| collection.dependents().next().is_some();
        groups.sort_by_key(|group| {
            (!is_named(group.collection), group.collection.referenced().count())
        });
        let example = |group: Group| {
            let parent = group.parent().and_then(|parent| ItemId::parse(parent.example_id));
            let path = self.links.to(&group.collection_path(parent));
            json!({ "path": path, "id": group.example_id, "body": group.example() })
        };
        Some(groups.into_iter().map(example).collect::<Value>().to_string())
    }

    async fn charts(
        &self,
        caller: &Caller,
        reader: &Reader,
    ) -> Result<(Vec<Chart>, Option<ShownTime>)> {
        let (mut charts, mut counted_at) = (Vec::new(), None);
        for known in self.readable(caller) {
            let collection = known.group.collection;
            if let Some(summed) = &collection.spec().summed {
                let sums = known.service.value_counts(caller, summed.name, SUMS);
                let sums = sums.await?;
                counted_at = counted_at.max(sums.time);
                charts.extend(self.years(known, summed, &sums.counts));
            }
            for member in collection.spec().counted {
                let counts = known.service.value_counts(caller, member.name, VALUES).await?;
                counted_at = counted_at.max(counts.time);
                if !counts.counts.is_empty() {
                    let title = chart_title(reader, collection, member);
                    charts.push(Chart::new(title, self.bars(collection, member, counts, reader)));
                }
            }
        }
        Ok((charts, counted_at.map(|time| reader.time(time))))
    }

    fn years(
        &self,
        known: &ExploredGroup,
        summed: &SummedMembers,
        sums: &[ValueCount],
    ) -> Vec<Chart> {
        let sums: BTreeMap<_, _> = sums.iter().map(|sum| (sum.value.as_str(), sum.items)).collect();
        let years: BTreeSet<_> = sums.keys().filter_map(|month| month.get(..4)).collect();
        let chart = |year: &&str| {
            let bar = |month: i8| {
                let name = Date::constant(2000, month, 1).strftime("%B").to_string();
                let sum = sums.get(format!("{year}-{month:02}").as_str());
                let href = self.links.filtered(known.group.collection, summed.year, year);
                Count::of_amount(name, sum.copied().unwrap_or(0), Some(href))
            };
            let title = format!("{} of {year} by month", capitalized(known.group.items_name));
            Chart::new(title, (1..=12).map(bar).collect())
        };
        years.iter().rev().take(YEARS).map(chart).collect()
    }

    /// Years in order, other values by frequency.
    fn bars(
        &self,
        collection: Collection,
        member: &CountedMember,
        counts: ValueCounts,
        reader: &Reader,
    ) -> Vec<Count> {
        let mut counts = counts.counts;
        if member.characters == Some(4) || member.name == "year" {
            counts.sort_by(|one, other| one.value.cmp(&other.value));
        }
        let bar = |count: ValueCount| {
            let href = match member.characters {
                None => self.links.filtered(collection, member.name, &count.value),
                Some(_) => self.in_year(collection, member.name, &count.value),
            };
            let label = reader.choice(collection, member.name, &count.value);
            Count::of_items(label, count.items, Some(href))
        };
        counts.into_iter().map(bar).collect()
    }

    fn in_year(&self, collection: Collection, member: &str, year: &str) -> String {
        let (path, member, year) =
            (self.links.collection(collection), escaped(member), escaped(year));
        format!("{path}?filter[{member}][gte]={year}-01-01&filter[{member}][lte]={year}-12-31")
    }
}

async fn count(caller: &Caller, known: &ExploredGroup, reader: &Reader) -> Result<String> {
    let mut first = PageRequest::plain(1, 1);
    first.view.fields = Some([].into());
    let listing = known.service.list(caller, None, &first).await?;
    Ok(match listing.content.total {
        Total::Exact(total) | Total::AtLeast(total) => reader.count(&total),
        Total::NotCounted => String::new(),
    })
}

fn chart_title(reader: &Reader, collection: Collection, member: &CountedMember) -> String {
    let (group, label) = (reader.group(collection), reader.label(collection, member.name));
    let year = if member.characters == Some(4) { "year of " } else { "" };
    format!("{group} by {year}{}", lower_case(&label))
}

/// Keeps abbreviations such as ROR.
fn lower_case(label: &str) -> String {
    let mut characters = label.chars();
    let first = characters.next().into_iter().flat_map(char::to_lowercase);
    match characters.clone().next() {
        Some(second) if second.is_uppercase() => label.to_owned(),
        _ => first.chain(characters).collect(),
    }
}
