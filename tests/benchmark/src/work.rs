//! The works that are measured, and the bytes of their requests.

use std::collections::BTreeMap;
use std::rc::Rc;

use clap::ValueEnum;
use fastrand::Rng;

use crate::proposals::made_up_proposal;

const PAGE_SIZE: u32 = 25;

const BODIES: usize = 1_000;

/// A work, in the order of measuring: what makes the collection grow comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Work {
    Item,
    Page,
    DeepPage,
    NewPage,
    Total,
    Replace,
    Mix,
    Create,
}

impl Work {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Item => "item by random id",
            Self::Page => "first page of 25",
            Self::DeepPage => "page at nine tenths, by number",
            Self::NewPage => "page of 25 of a new selection, without total",
            Self::Total => "total of a new selection",
            Self::Replace => "replace",
            Self::Mix => "mix: 80 item, 15 page, 5 replace",
            Self::Create => "create",
        }
    }

    pub(super) const fn writes(self) -> bool {
        matches!(self, Self::Replace | Self::Mix | Self::Create)
    }

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
}

/// How long the answers to reads are, in bytes.
pub(super) type AnswerSizes = BTreeMap<Work, usize>;

pub(super) type Bodies = Rc<[Vec<u8>]>;

pub(super) fn made_up_bodies() -> Bodies {
    let mut random = Rng::with_seed(42);
    (0..BODIES).map(|_| made_up_proposal(&mut random)).collect()
}

pub(super) struct Requests {
    pub(super) ids: Vec<String>,
    bodies: Bodies,
    queries: BTreeMap<Work, String>,
    /// The tokens of callers; requests are anonymous if there are none.
    pub(super) tokens: Vec<String>,
}

impl Requests {
    pub(super) fn to_service(bodies: Bodies, proposals: u32) -> Self {
        // Page 360 of 400 when 10,000 proposals are stored.
        let deep_page = (proposals / PAGE_SIZE * 9 / 10).max(1);
        // Every item is selected. No page and no total is kept, because each selection is another.
        let new = |query| format!("?{query}&filter[outcomes][ne]=");
        let queries = [
            (Work::DeepPage, format!("?page={deep_page}")),
            (Work::NewPage, new("total=none")),
            (Work::Total, new("page_size=1")),
        ];
        Self { ids: Vec::new(), bodies, queries: queries.into(), tokens: Vec::new() }
    }

    /// The same requests to the bare route, with the length of the answer in the query and ids that
    /// are only as long as real ones.
    pub(super) fn to_bare_route(bodies: Bodies, proposals: u32, sizes: &AnswerSizes) -> Self {
        let ids = (0..proposals).map(|number| format!("{number:036}")).collect();
        let size = |work| sizes.get(&work).unwrap_or(&sizes[&Work::Item]);
        let reads = [Work::Item, Work::Page, Work::DeepPage, Work::NewPage, Work::Total];
        let works = reads.into_iter().chain([Work::Replace, Work::Create]);
        let queries = works.map(|work| (work, format!("?bytes={}", size(work)))).collect();
        Self { ids, bodies, queries, tokens: Vec::new() }
    }

    /// The header of the caller who created the proposal of this number, if there are callers.
    pub(super) fn authorization(&self, number: usize) -> String {
        let token = self.tokens.get(number % self.tokens.len().max(1));
        token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"))
    }

    pub(super) fn write(&self, work: Work, random: &mut Rng, request: &mut Vec<u8>) {
        let number = random.usize(0..self.ids.len().max(1));
        self.write_about(number, work.next(random), random, request);
    }

    /// Writes a request of the creator of the proposal of this number.
    pub(super) fn write_about(
        &self,
        number: usize,
        work: Work,
        random: &mut Rng,
        request: &mut Vec<u8>,
    ) {
        let (method, body) = match work {
            Work::Create => ("POST", random.choice(self.bodies.iter())),
            Work::Replace => ("PUT", random.choice(self.bodies.iter())),
            _ => ("GET", None),
        };
        let id = match work {
            Work::Item | Work::Replace => self.ids.get(number),
            _ => None,
        };
        let [slash, id] = id.map_or(["", ""], |id| ["/", id]);
        let query = self.queries.get(&work).map_or("", String::as_str);
        let selection =
            if query.ends_with('=') { random.u64(..).to_string() } else { String::new() };
        let target = ["/v1/proposals", slash, id, query, &selection].concat();
        let body = body.map(Vec::as_slice);
        write_request(request, method, &target, &self.authorization(number), body);
    }
}

pub(super) fn write_request(
    request: &mut Vec<u8>,
    method: &str,
    target: &str,
    authorization: &str,
    body: Option<&[u8]>,
) {
    let length = body.map_or_else(String::new, |body| {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    });
    request.clear();
    for part in [method, " ", target, HEAD, authorization, &length, "\r\n"] {
        request.extend_from_slice(part.as_bytes());
    }
    request.extend_from_slice(body.unwrap_or_default());
}

const HEAD: &str = " HTTP/1.1\r\nHost: localhost\r\nAccept: application/hal+json\r\n";

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Requests, Work, made_up_bodies};

    fn written(requests: &Requests, work: Work) -> String {
        let mut request = Vec::new();
        requests.write(work, &mut Rng::with_seed(1), &mut request);
        String::from_utf8(request).unwrap()
    }

    #[test]
    fn requests_to_the_service_are_plain_and_the_bare_route_receives_the_length_of_each_answer() {
        let mut service = Requests::to_service(made_up_bodies(), 10_000);
        service.ids = vec!["abc".to_owned()];
        let sizes = [(Work::Item, 1), (Work::Page, 2), (Work::DeepPage, 3)].into();
        let bare = Requests::to_bare_route(made_up_bodies(), 10_000, &sizes);
        for (work, line, end) in [
            (Work::Item, "GET /v1/proposals/abc HTTP/1.1", "bytes=1 "),
            (Work::Page, "GET /v1/proposals HTTP/1.1", "bytes=2 "),
            (Work::DeepPage, "GET /v1/proposals?page=360 HTTP/1.1", "bytes=3 "),
            (Work::Replace, "PUT /v1/proposals/abc HTTP/1.1", "bytes=1 "),
            (Work::Create, "POST /v1/proposals HTTP/1.1", "bytes=1 "),
        ] {
            assert_eq!(written(&service, work).lines().next(), Some(line));
            assert!(written(&bare, work).lines().next().unwrap().contains(end), "{work:?}");
        }
        service.tokens = vec!["a.b.c".to_owned()];
        let request = written(&service, Work::Create);
        assert!(request.contains("\r\nAuthorization: Bearer a.b.c\r\n"));
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
    }

    #[test]
    fn the_mix_is_what_it_says() {
        let mut random = Rng::with_seed(1);
        let mut count =
            |wanted: Work| (0..10_000).filter(|_| Work::Mix.next(&mut random) == wanted).count();
        assert!((7_800..8_200).contains(&count(Work::Item)));
        assert!((400..600).contains(&count(Work::Replace)));
    }
}
