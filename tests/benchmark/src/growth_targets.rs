//! Requests that show the cost of more proposals: many different pages and researchers in rotation,
//! so that nothing that keeps whole answers can give them all.

use std::cell::Cell;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use fastrand::Rng;
use serde_json::Value;
use url::Url;

use crate::connection::{Connection, get};
use crate::load::{Source, accepted};

const COLLECTION: &str = "/v1/proposals";

const DIFFERENT: usize = 500;

/// Proposals that each researcher of a seeded store leads, about.
const LED: u32 = 20;

/// The page sizes of the deep pages, 25 on average: the tenth of 10,000 proposals that lies behind
/// the ninth has only 40 pages of one size.
const DEEP_PAGE_SIZES: std::ops::RangeInclusive<u32> = 18..=32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum GrowthWork {
    FirstPage,
    DeepNext,
    FilteredPage,
    Total,
}

pub(super) struct Targets {
    work: GrowthWork,
    requests: Vec<Vec<u8>>,
    turn: Cell<usize>,
}

impl GrowthWork {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::FirstPage => "first page of 25",
            Self::DeepNext => "next pages from nine tenths on, 18 to 32 items",
            Self::FilteredPage => "page of one researcher",
            Self::Total => "total_items (page_size=1)",
        }
    }
}

impl Targets {
    pub(super) async fn find(work: GrowthWork, server: SocketAddr, proposals: u32) -> Result<Self> {
        let targets = match work {
            GrowthWork::FirstPage => vec![COLLECTION.to_owned()],
            GrowthWork::DeepNext => {
                deep_pages(&mut Connection::open(server).await?, proposals).await?
            }
            GrowthWork::FilteredPage => pages_of_researchers(proposals),
            GrowthWork::Total => vec![format!("{COLLECTION}?page_size=1")],
        };
        ensure!(!targets.is_empty(), "{}: {proposals} proposals are too few", work.title());
        Ok(Self::new(work, &targets))
    }

    fn new(work: GrowthWork, targets: &[String]) -> Self {
        Self {
            work,
            requests: targets.iter().map(|target| get(target)).collect(),
            turn: Cell::new(0),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.requests.len()
    }

    /// How many proposals the answers name, on average: a filter that finds nothing would be
    /// measured for nothing.
    pub(super) async fn mean_items(&self, server: SocketAddr) -> Result<f64> {
        let mut connection = Connection::open(server).await?;
        let mut items = 0;
        for _ in &self.requests {
            let page: Value =
                serde_json::from_slice(accepted(&mut connection, self, &mut Rng::new()).await?)?;
            let embedded =
                page["_embedded"].as_object().into_iter().flat_map(|groups| groups.values());
            items += embedded.filter_map(Value::as_array).map(Vec::len).sum::<usize>();
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 500 pages")]
        let mean = items as f64 / self.len() as f64;
        ensure!(mean > 0.0, "{}: no answer has an item", self.title());
        Ok(mean)
    }
}

impl Source for Targets {
    fn write(&self, _: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        let turn = self.turn.get();
        self.turn.set((turn + 1) % self.len());
        request.clear();
        request.extend_from_slice(&self.requests[turn]);
        Ok(())
    }

    fn title(&self) -> String {
        self.work.title().to_owned()
    }
}

/// Follows `next` from the page at nine tenths on, for each of the page sizes.
async fn deep_pages(connection: &mut Connection, proposals: u32) -> Result<Vec<String>> {
    let most = DIFFERENT.div_ceil(DEEP_PAGE_SIZES.count());
    let mut targets = Vec::new();
    for page_size in DEEP_PAGE_SIZES {
        let page = (proposals / 10 * 9 / page_size).max(1);
        let mut at = format!("{COLLECTION}?page={page}&page_size={page_size}");
        for _ in 0..most {
            let Some(next) = next_page(connection, &at).await? else { break };
            at.clone_from(&next);
            targets.push(next);
        }
    }
    targets.truncate(DIFFERENT);
    Ok(targets)
}

async fn next_page(connection: &mut Connection, target: &str) -> Result<Option<String>> {
    let page = Targets::new(GrowthWork::DeepNext, &[target.to_owned()]);
    let page: Value = serde_json::from_slice(accepted(connection, &page, &mut Rng::new()).await?)
        .context("a page is not JSON")?;
    page["_links"]["next"]["href"].as_str().map(target_of).transpose()
}

fn target_of(href: &str) -> Result<String> {
    let url = Url::parse("http://localhost")?.join(href)?;
    Ok(url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())))
}

fn pages_of_researchers(proposals: u32) -> Vec<String> {
    let researchers = (proposals / LED).max(1);
    let step = researchers.div_ceil(u32::try_from(DIFFERENT).unwrap_or(u32::MAX)).max(1);
    let numbers = (1..=researchers).step_by(usize::try_from(step).unwrap_or(1));
    numbers.map(|number| format!("{COLLECTION}?filter[researcher_id]=R-{number:05}")).collect()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{GrowthWork, Source, Targets, pages_of_researchers, target_of};

    #[test]
    fn the_requests_rotate() {
        let targets = Targets::new(GrowthWork::FirstPage, &["/a".to_owned(), "/b".to_owned()]);
        let (mut random, mut request) = (Rng::new(), Vec::new());
        for expected in ["GET /a ", "GET /b ", "GET /a "] {
            targets.write(&mut random, &mut request).unwrap();
            assert!(request.starts_with(expected.as_bytes()));
        }
    }

    #[test]
    fn as_many_researchers_are_asked_for_in_a_small_store_as_in_a_large_one() {
        for (proposals, last) in [(10_000, "R-00500"), (1_000_000, "R-49901")] {
            let pages = pages_of_researchers(proposals);
            assert_eq!(pages.len(), 500);
            assert!(pages[499].ends_with(last), "{}", pages[499]);
        }
        assert_eq!(pages_of_researchers(1_000).len(), 50);
    }

    #[test]
    fn a_link_may_be_absolute() {
        for href in ["http://127.0.0.1:80/v1/proposals?page=2", "/v1/proposals?page=2"] {
            assert_eq!(target_of(href).unwrap(), "/v1/proposals?page=2");
        }
    }
}
