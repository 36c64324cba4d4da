//! The works that are measured, and the bytes of their requests.

use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use clap::ValueEnum;
use fastrand::Rng;

use crate::load::Source;
use crate::proposals::made_up_proposal;

/// The service's default page size.
const PAGE_SIZE: u32 = 25;

/// How many different bodies are sent.
const BODIES: usize = 1_000;

/// A work, in the order of measuring: what makes the collection grow comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Work {
    Item,
    Page,
    DeepPage,
    Replace,
    Mix,
    Create,
}

impl Work {
    /// The works that are one request each.
    pub(super) const SINGLE: [Self; 5] =
        [Self::Item, Self::Page, Self::DeepPage, Self::Replace, Self::Create];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Item => "item by random id",
            Self::Page => "first page of 25",
            Self::DeepPage => "page at nine tenths, by number",
            Self::Replace => "replace",
            Self::Mix => "mix: 80 item, 15 page, 5 replace",
            Self::Create => "create",
        }
    }

    /// Whether anything is written.
    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Replace | Self::Mix | Self::Create)
    }

    /// The single work to do next.
    fn next(self, random: &mut Rng) -> Self {
        match self {
            Self::Mix => match random.u8(0..100) {
                0..80 => Self::Item,
                80..95 => Self::Page,
                _ => Self::Replace,
            },
            single => single,
        }
    }

    const fn method(self) -> &'static [u8] {
        match self {
            Self::Create => b"POST",
            Self::Replace => b"PUT",
            _ => b"GET",
        }
    }

    const fn names_an_item(self) -> bool {
        matches!(self, Self::Item | Self::Replace)
    }

    const fn has_body(self) -> bool {
        matches!(self, Self::Create | Self::Replace)
    }
}

/// The number of the page at nine tenths of the collection: page 360 of 400 when 10,000 proposals
/// are stored.
fn deep_page(proposals: u32) -> u32 {
    (proposals / PAGE_SIZE * 9 / 10).max(1)
}

/// All bodies that are sent, made once.
#[derive(Clone)]
pub(super) struct Bodies(Rc<[Vec<u8>]>);

impl Bodies {
    pub(super) fn make_up() -> Self {
        let mut random = Rng::with_seed(42);
        Self((0..BODIES).map(|_| made_up_proposal(&mut random)).collect())
    }

    pub(super) fn mean_length(&self) -> usize {
        self.0.iter().map(Vec::len).sum::<usize>() / self.0.len()
    }
}

/// How long the service's answers are, in bytes.
#[derive(Clone, Copy)]
pub(super) struct AnswerSizes {
    pub(super) item: usize,
    pub(super) page: usize,
    pub(super) deep_page: usize,
}

impl AnswerSizes {
    /// About what the service answers, for a run of the references alone.
    pub(super) const fn typical(body: usize) -> Self {
        Self { item: body + 700, page: (body + 700) * 25, deep_page: (body + 700) * 25 }
    }

    /// A write answers with the item.
    const fn of(self, work: Work) -> usize {
        match work {
            Work::Page => self.page,
            Work::DeepPage => self.deep_page,
            Work::Item | Work::Replace | Work::Create | Work::Mix => self.item,
        }
    }
}

/// The requests of one work to one server.
pub(super) struct WorkRequests<'a> {
    requests: &'a Requests,
    work: Work,
}

impl Source for WorkRequests<'_> {
    fn write(&self, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        self.requests.write(self.work, random, request)
    }

    fn title(&self) -> &str {
        self.work.title()
    }
}

/// Writes the requests to one server.
pub(super) struct Requests {
    ids: Vec<String>,
    bodies: Bodies,
    queries: BTreeMap<Work, String>,
}

impl Requests {
    /// Requests to a service with a store; only `Create` makes sense until `set_ids`.
    pub(super) fn to_service(bodies: Bodies, proposals: u32) -> Self {
        let queries = [(Work::DeepPage, format!("?page={}", deep_page(proposals)))];
        Self { ids: Vec::new(), bodies, queries: queries.into() }
    }

    /// The same requests to one without, with the length of the answer in the query and ids that
    /// are only as long as real ones.
    pub(super) fn to_bare_route(bodies: Bodies, proposals: u32, sizes: AnswerSizes) -> Self {
        let query = |work: Work| (work, format!("?bytes={}", sizes.of(work)));
        let ids = (0..proposals).map(|number| format!("{number:036}")).collect();
        Self { ids, bodies, queries: Work::SINGLE.map(query).into() }
    }

    pub(super) fn set_ids(&mut self, ids: Vec<String>) {
        self.ids = ids;
    }

    /// The requests of one work.
    pub(super) const fn of(&self, work: Work) -> WorkRequests<'_> {
        WorkRequests { requests: self, work }
    }

    fn write(&self, work: Work, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        let work = work.next(random);
        request.clear();
        request.extend_from_slice(work.method());
        request.extend_from_slice(b" /v1/proposals");
        if work.names_an_item() {
            request.push(b'/');
            request
                .extend_from_slice(random.choice(&self.ids).map_or("", String::as_str).as_bytes());
        }
        request.extend_from_slice(self.queries.get(&work).map_or("", String::as_str).as_bytes());
        request
            .extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\nAccept: application/hal+json\r\n");
        if work.has_body() {
            let body = random.choice(self.bodies.0.iter()).map_or(&[][..], Vec::as_slice);
            write!(
                request,
                "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )?;
            request.extend_from_slice(body);
        } else {
            request.extend_from_slice(b"\r\n");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{AnswerSizes, Bodies, Requests, Work, deep_page};

    fn first_line(requests: &Requests, work: Work) -> String {
        let mut request = Vec::new();
        requests.write(work, &mut Rng::with_seed(1), &mut request).unwrap();
        String::from_utf8(request).unwrap().lines().next().unwrap().to_owned()
    }

    #[test]
    fn requests_to_the_service_are_plain() {
        let mut requests = Requests::to_service(Bodies::make_up(), 10_000);
        requests.set_ids(vec!["abc".to_owned()]);
        assert_eq!(first_line(&requests, Work::Item), "GET /v1/proposals/abc HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Page), "GET /v1/proposals HTTP/1.1");
        assert_eq!(first_line(&requests, Work::DeepPage), "GET /v1/proposals?page=360 HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Replace), "PUT /v1/proposals/abc HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Create), "POST /v1/proposals HTTP/1.1");
    }

    #[test]
    fn the_bare_route_is_told_the_length_of_each_answer() {
        let requests = Requests::to_bare_route(
            Bodies::make_up(),
            10_000,
            AnswerSizes { item: 1, page: 2, deep_page: 3 },
        );
        let wanted =
            [(Work::Page, "bytes=2 "), (Work::DeepPage, "bytes=3 "), (Work::Create, "bytes=1 ")];
        for (work, end) in wanted {
            assert!(first_line(&requests, work).contains(end), "{work:?}");
        }
    }

    #[test]
    fn the_mix_is_what_it_says() {
        let mut random = Rng::with_seed(1);
        let count = |wanted: Work, random: &mut Rng| {
            (0..10_000).filter(|_| Work::Mix.next(random) == wanted).count()
        };
        assert!((7_800..8_200).contains(&count(Work::Item, &mut random)));
        assert!((400..600).contains(&count(Work::Replace, &mut random)));
    }

    #[test]
    fn the_deep_page_is_360_of_400() {
        assert_eq!(deep_page(10_000), 360);
    }
}
