//! The reads that are measured on stores of several sizes: many different ones in rotation, so that
//! nothing that keeps whole answers can give them all.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::connection::{Connection, get};
use crate::history::{COMMON_WORD, History, RARE, RARE_WORD};
use crate::load::accepted;

const PROPOSALS: &str = "/v1/proposals";

/// How many different requests there are of a read of small items.
const DIFFERENT: u64 = 200;

/// The most different requests of a read.
const MOST_DIFFERENT: usize = 500;

const PAGE_SIZE: u64 = 25;

/// Proposals that each researcher of a seeded store leads, about.
const LED: u64 = 20;

pub(super) struct Read {
    pub(super) title: &'static str,
    targets: Vec<String>,
    /// How many next pages of each target are read in its place; 0 where the target itself is read.
    walked: usize,
    /// Answers must have items: a filter that finds nothing would be measured for nothing.
    has_items: bool,
}

/// The reads of a seeded store.
pub(super) fn growth_reads(proposals: u64) -> Vec<Read> {
    let read = |title, targets, walked| Read { title, targets, walked, has_items: true };
    // 25 on average: the tenth of 10,000 proposals that lies behind the ninth has only 40 pages of
    // one size.
    let deep = (18..=32).map(|size| {
        format!("{PROPOSALS}?page={}&page_size={size}", (proposals / 10 * 9 / size).max(1))
    });
    vec![
        read("first page of 25", vec![PROPOSALS.to_owned()], 0),
        read("next pages from nine tenths on, 18 to 32 items", deep.collect(), 34),
        read("page of one researcher", pages_of_researchers(proposals), 0),
        read("total_items (page_size=1)", vec![format!("{PROPOSALS}?page_size=1")], 0),
    ]
}

fn pages_of_researchers(proposals: u64) -> Vec<String> {
    let researchers = (proposals / LED).max(1);
    let step = researchers.div_ceil(MOST_DIFFERENT as u64);
    let numbers = (0..researchers.div_ceil(step)).map(|turn| 1 + turn * step);
    numbers.map(|number| format!("{PROPOSALS}?filter[researcher_id]=R-{number:05}")).collect()
}

/// The reads of a store of small items.
pub(super) fn small_reads(items: u64) -> Vec<Read> {
    let number = |turn: u64| items / DIFFERENT * turn + items / DIFFERENT / 2;
    let pages = (items - RARE) / PAGE_SIZE;
    let middle =
        |turn| format!("{PROPOSALS}?page={}", pages * 2 / 5 + pages / 5 * turn / DIFFERENT);
    let as_of = "as_of=2026-06-01T00:00:00Z";
    let reads: [(_, &dyn Fn(u64) -> String); 13] = [
        ("item by id", &|turn| format!("{PROPOSALS}/{}", History::id(number(turn)))),
        ("first page (18 to 32 items)", &|turn| {
            format!("{PROPOSALS}?page_size={}", 18 + turn % 15)
        }),
        ("page by number, in the middle", &middle),
        ("page by number, last ten", &|turn| format!("{PROPOSALS}?page={}", pages - 1 - turn % 10)),
        (NEXT, &middle),
        ("filter on an indexed member, 20 items", &|turn| {
            format!("{PROPOSALS}?filter[researcher_id]={}", History::researcher(number(turn)))
        }),
        ("filter without an index, 1 item", &|turn| {
            format!("{PROPOSALS}?filter[outcomes]={}", History::outcome(number(turn)))
        }),
        ("search of a word in 50 items", &|turn| {
            format!("{PROPOSALS}?q={RARE_WORD}&page_size={}", 1 + turn)
        }),
        ("search of a word in a tenth of the items", &|turn| {
            format!("{PROPOSALS}?q={COMMON_WORD}&page_size={}", 1 + turn)
        }),
        ("changes of all groups, 51 to 150", &|turn| {
            format!("/v1/changes?page_size={}", 51 + turn % 100)
        }),
        ("changes of a rare group, 50 in all", &|turn| {
            format!("/v1/changes?group=statuses&page_size={}", 51 + turn % 100)
        }),
        ("item as of a time", &|turn| format!("{PROPOSALS}/{}?{as_of}", History::id(number(turn)))),
        ("first page as of a time", &|turn| {
            format!("{PROPOSALS}?{as_of}&page_size={}", 18 + turn % 15)
        }),
    ];
    let read = |(title, target): (&'static str, &dyn Fn(u64) -> String)| {
        // One page in ten is requested, and the ten that follow it.
        let (step, walked) = if title == NEXT { (10, 10) } else { (1, 0) };
        let targets = (0..DIFFERENT).step_by(step).map(target).collect();
        Read { title, targets, walked, has_items: false }
    };
    reads.into_iter().map(read).collect()
}

const NEXT: &str = "next by cursor, in the middle";

impl Read {
    pub(super) async fn requests(self, connection: &mut Connection) -> Result<Vec<Vec<u8>>> {
        let mut targets = Vec::new();
        for mut target in self.targets {
            if self.walked == 0 {
                targets.push(target.clone());
            }
            for _ in 0..self.walked {
                let page: Value =
                    serde_json::from_slice(accepted(connection, &get(&target)).await?)?;
                let Some(href) = page["_links"]["next"]["href"].as_str() else { break };
                // A link is absolute.
                target
                    .replace_range(.., &href[href.find("/v1/").context("a link to elsewhere")?..]);
                targets.push(target.clone());
            }
        }
        targets.truncate(MOST_DIFFERENT);
        let requests: Vec<_> = targets.iter().map(|target| get(target)).collect();
        ensure!(!requests.is_empty(), "{}: too few items", self.title);
        let mut items = 0;
        for request in requests.iter().filter(|_| self.has_items) {
            let page: Value = serde_json::from_slice(accepted(connection, request).await?)?;
            items += page["_embedded"]["proposals"].as_array().map_or(0, Vec::len);
        }
        ensure!(items > 0 || !self.has_items, "{}: no answer has an item", self.title);
        eprintln!("{}: {} different requests", self.title, requests.len());
        Ok(requests)
    }
}

#[cfg(test)]
mod tests {
    use super::pages_of_researchers;

    #[test]
    fn as_many_researchers_are_asked_for_in_a_small_store_as_in_a_large_one() {
        for (proposals, count, last) in
            [(1_000, 50, "R-00050"), (10_000, 500, "R-00500"), (1_000_000, 500, "R-49901")]
        {
            let pages = pages_of_researchers(proposals);
            assert_eq!(pages.len(), count);
            assert!(pages[count - 1].ends_with(last), "{}", pages[count - 1]);
        }
    }
}
