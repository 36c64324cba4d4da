//! The reads that are measured, each on every store of a run.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::Value;

use super::history::{COMMON_WORD, History, RARE, RARE_WORD};
use crate::connection::{Connection, get};

const PROPOSALS: &str = "/v1/proposals";

const DIFFERENT: u64 = 200;

const PAGE_SIZE: u64 = 25;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Read {
    Item,
    FirstPage,
    MiddlePage,
    LastPage,
    NextPage,
    IndexedFilter,
    Unindexed,
    RareWord,
    CommonWord,
    Feed,
    RareFeed,
    ItemAsOf,
    PageAsOf,
}

impl Read {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Item => "item by id",
            Self::FirstPage => "first page (18 to 32 items)",
            Self::MiddlePage => "page by number, in the middle",
            Self::LastPage => "page by number, last ten",
            Self::NextPage => "next by cursor, in the middle",
            Self::IndexedFilter => "filter on an indexed member, 20 items",
            Self::Unindexed => "filter without an index, 1 item",
            Self::RareWord => "search of a word in 50 items",
            Self::CommonWord => "search of a word in a tenth of the items",
            Self::Feed => "changes of all groups, 51 to 150",
            Self::RareFeed => "changes of a rare group, 50 in all",
            Self::ItemAsOf => "item as of a time",
            Self::PageAsOf => "first page as of a time",
        }
    }

    fn targets(self, items: u64) -> Vec<String> {
        let number = |turn: u64| items / DIFFERENT * turn + items / DIFFERENT / 2;
        let each = |target: &dyn Fn(u64) -> String| -> Vec<String> {
            (0..DIFFERENT).map(target).collect()
        };
        let pages = (items - RARE) / PAGE_SIZE;
        match self {
            Self::Item => each(&|turn| format!("{PROPOSALS}/{}", History::id(number(turn)))),
            Self::FirstPage => each(&|turn| format!("{PROPOSALS}?page_size={}", 18 + turn % 15)),
            Self::MiddlePage | Self::NextPage => each(&|turn| {
                format!("{PROPOSALS}?page={}", pages * 2 / 5 + pages / 5 * turn / DIFFERENT)
            }),
            Self::LastPage => each(&|turn| format!("{PROPOSALS}?page={}", pages - 1 - turn % 10)),
            Self::IndexedFilter => each(&|turn| {
                format!("{PROPOSALS}?filter[researcher_id]={}", History::researcher(number(turn)))
            }),
            Self::Unindexed => each(&|turn| {
                format!("{PROPOSALS}?filter[outcomes]={}", History::outcome(number(turn)))
            }),
            Self::RareWord => {
                each(&|turn| format!("{PROPOSALS}?q={RARE_WORD}&page_size={}", 1 + turn))
            }
            Self::CommonWord => {
                each(&|turn| format!("{PROPOSALS}?q={COMMON_WORD}&page_size={}", 1 + turn))
            }
            Self::Feed => each(&|turn| format!("/v1/changes?page_size={}", 51 + turn % 100)),
            Self::RareFeed => {
                each(&|turn| format!("/v1/changes?group=statuses&page_size={}", 51 + turn % 100))
            }
            Self::ItemAsOf => each(&|turn| {
                format!("{PROPOSALS}/{}?as_of=2026-06-01T00:00:00Z", History::id(number(turn)))
            }),
            Self::PageAsOf => each(&|turn| {
                format!("{PROPOSALS}?as_of=2026-06-01T00:00:00Z&page_size={}", 18 + turn % 15)
            }),
        }
    }

    pub(super) async fn requests(
        self,
        connection: &mut Connection,
        items: u64,
    ) -> Result<Vec<Vec<u8>>> {
        let mut targets = self.targets(items);
        if self == Self::NextPage {
            // One in ten is asked for, and what follows it is walked.
            let mut following = Vec::new();
            for target in targets.iter().step_by(10) {
                let mut at = target.clone();
                for _ in 0..10 {
                    at = next(connection, &at).await?;
                    following.push(at.clone());
                }
            }
            targets = following;
        }
        Ok(targets.iter().map(|target| get(target)).collect())
    }
}

async fn next(connection: &mut Connection, target: &str) -> Result<String> {
    let status = connection.exchange(&get(target)).await?;
    ensure!(status == 200, "{target}: status {status}");
    let page: Value = serde_json::from_slice(connection.body())?;
    let href = page["_links"]["next"]["href"].as_str().context("a page without `next`")?;
    let path = href.find("/v1/").context("a link to elsewhere")?;
    Ok(href[path..].to_owned())
}
