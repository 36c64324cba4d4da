//! The works that are measured, and the bytes of their requests.

use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use clap::ValueEnum;
use fastrand::Rng;

use crate::load::Source;
use crate::proposals::{made_up_file, made_up_proposal};

const PAGE_SIZE: u32 = 25;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Group {
    Proposals,
    /// Descriptions of files; each names a proposal.
    Files,
}

impl Group {
    const ALL: [Self; 2] = [Self::Proposals, Self::Files];

    const fn path(self) -> &'static str {
        match self {
            Self::Proposals => "/v1/proposals",
            Self::Files => "/v1/files",
        }
    }

    pub(super) fn title(self, work: Work) -> String {
        match self {
            Self::Proposals => work.title().to_owned(),
            Self::Files => format!("files: {}", work.title()),
        }
    }
}

impl Work {
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

    const fn method(self) -> &'static [u8] {
        match self {
            Self::Create => b"POST",
            Self::Replace => b"PUT",
            _ => b"GET",
        }
    }
}

/// The number of the page at nine tenths of the collection: page 360 of 400 when 10,000 proposals
/// are stored.
fn deep_page(proposals: u32) -> u32 {
    (proposals / PAGE_SIZE * 9 / 10).max(1)
}

#[derive(Clone)]
pub(super) struct Bodies {
    proposals: Rc<[Vec<u8>]>,
    files: Rc<[Vec<u8>]>,
}

impl Bodies {
    pub(super) fn make_up() -> Self {
        let mut random = Rng::with_seed(42);
        let proposals = (0..BODIES).map(|_| made_up_proposal(&mut random)).collect();
        let files = (0..BODIES).map(|_| made_up_file(&mut random)).collect();
        Self { proposals, files }
    }

    pub(super) fn mean_length(&self) -> usize {
        self.proposals.iter().map(Vec::len).sum::<usize>() / self.proposals.len()
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

    const fn of(self, work: Work) -> usize {
        match work {
            Work::Page => self.page,
            Work::DeepPage => self.deep_page,
            Work::Item | Work::Replace | Work::Create | Work::Mix => self.item,
        }
    }
}

pub(super) struct WorkRequests<'a> {
    requests: &'a Requests,
    work: Work,
    group: Group,
}

impl Source for WorkRequests<'_> {
    fn write(&self, random: &mut Rng, request: &mut Vec<u8>) -> std::io::Result<()> {
        self.requests.write(self.work, self.group, random, request)
    }

    fn title(&self) -> String {
        self.group.title(self.work)
    }
}

pub(super) struct Requests {
    ids: BTreeMap<Group, Vec<String>>,
    bodies: Bodies,
    queries: BTreeMap<(Work, Group), String>,
    tokens: Vec<String>,
}

impl Requests {
    pub(super) fn to_service(bodies: Bodies, proposals: u32) -> Self {
        let query = format!("?page={}", deep_page(proposals));
        let queries = Group::ALL.map(|group| ((Work::DeepPage, group), query.clone()));
        Self { ids: BTreeMap::new(), bodies, queries: queries.into(), tokens: Vec::new() }
    }

    /// The same requests by the callers with these tokens; anonymous if the list is empty.
    pub(super) fn by(self, tokens: Vec<String>) -> Self {
        Self { tokens, ..self }
    }

    /// The same requests to one without, with the length of the answer in the query and ids that
    /// are only as long as real ones.
    pub(super) fn to_bare_route(
        bodies: Bodies,
        proposals: u32,
        sizes: &BTreeMap<Group, AnswerSizes>,
    ) -> Self {
        let ids: Vec<_> = (0..proposals).map(|number| format!("{number:036}")).collect();
        let mut queries = BTreeMap::new();
        for (group, sizes) in sizes {
            let query = |work: Work| ((work, *group), format!("?bytes={}", sizes.of(work)));
            queries.extend(Work::SINGLE.map(query));
        }
        let ids = Group::ALL.map(|group| (group, ids.clone())).into();
        Self { ids, bodies, queries, tokens: Vec::new() }
    }

    pub(super) fn set_ids(&mut self, group: Group, ids: Vec<String>) {
        self.ids.insert(group, ids);
    }

    pub(super) const fn of(&self, work: Work, group: Group) -> WorkRequests<'_> {
        WorkRequests { requests: self, work, group }
    }

    fn id(&self, group: Group, random: &mut Rng) -> &str {
        let ids = self.ids.get(&group).map_or(&[][..], Vec::as_slice);
        random.choice(ids).map_or("", String::as_str)
    }

    pub(super) fn write_token(
        &self,
        random: &mut Rng,
        request: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        random
            .choice(&self.tokens)
            .map_or(Ok(()), |token| write!(request, "Authorization: Bearer {token}\r\n"))
    }

    fn write(
        &self,
        work: Work,
        group: Group,
        random: &mut Rng,
        request: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        let work = work.next(random);
        request.clear();
        request.extend_from_slice(work.method());
        write!(request, " {}", group.path())?;
        if matches!(work, Work::Item | Work::Replace) {
            request.push(b'/');
            request.extend_from_slice(self.id(group, random).as_bytes());
        }
        let query = self.queries.get(&(work, group)).map_or("", String::as_str);
        request.extend_from_slice(query.as_bytes());
        request
            .extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\nAccept: application/hal+json\r\n");
        self.write_token(random, request)?;
        if matches!(work, Work::Create | Work::Replace) {
            let bodies = match group {
                Group::Proposals => &self.bodies.proposals,
                Group::Files => &self.bodies.files,
            };
            let body = random.choice(bodies.iter()).map_or(&[][..], Vec::as_slice);
            // A file's body lacks its beginning, which names a proposal of this server.
            let beginning = match group {
                Group::Proposals => String::new(),
                Group::Files => {
                    format!("{{\"proposal_id\":\"{}\",", self.id(Group::Proposals, random))
                }
            };
            write!(
                request,
                "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{beginning}",
                beginning.len() + body.len()
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

    use super::{AnswerSizes, Bodies, Group, Requests, Work};

    fn written(requests: &Requests, work: Work, group: Group) -> String {
        let mut request = Vec::new();
        requests.write(work, group, &mut Rng::with_seed(1), &mut request).unwrap();
        String::from_utf8(request).unwrap()
    }

    fn first_line(requests: &Requests, work: Work) -> String {
        written(requests, work, Group::Proposals).lines().next().unwrap().to_owned()
    }

    #[test]
    fn requests_to_the_service_are_plain() {
        let mut requests = Requests::to_service(Bodies::make_up(), 10_000);
        requests.set_ids(Group::Proposals, vec!["abc".to_owned()]);
        assert_eq!(first_line(&requests, Work::Item), "GET /v1/proposals/abc HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Page), "GET /v1/proposals HTTP/1.1");
        assert_eq!(first_line(&requests, Work::DeepPage), "GET /v1/proposals?page=360 HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Replace), "PUT /v1/proposals/abc HTTP/1.1");
        assert_eq!(first_line(&requests, Work::Create), "POST /v1/proposals HTTP/1.1");
    }

    #[test]
    fn the_bare_route_receives_the_length_of_each_answer() {
        let sizes = AnswerSizes { item: 1, page: 2, deep_page: 3 };
        let requests =
            Requests::to_bare_route(Bodies::make_up(), 10_000, &[(Group::Proposals, sizes)].into());
        let wanted =
            [(Work::Page, "bytes=2 "), (Work::DeepPage, "bytes=3 "), (Work::Create, "bytes=1 ")];
        for (work, end) in wanted {
            assert!(first_line(&requests, work).contains(end), "{work:?}");
        }
    }

    #[test]
    fn each_request_has_a_token_of_a_caller() {
        let requests = Requests::to_service(Bodies::make_up(), 10_000);
        let requests = requests.by(vec!["a.b.c".to_owned()]);
        let request = written(&requests, Work::Page, Group::Proposals);
        assert!(request.contains("\r\nAuthorization: Bearer a.b.c\r\n"));
    }

    #[test]
    fn a_file_names_a_proposal_of_its_server() {
        let mut requests = Requests::to_service(Bodies::make_up(), 10_000);
        requests.set_ids(Group::Proposals, vec!["abc".to_owned()]);
        let request = written(&requests, Work::Create, Group::Files);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/files HTTP/1.1"));
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["proposal_id"], "abc");
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
}
