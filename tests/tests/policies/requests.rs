//! Requests of a caller: every way to read, and writes that the caller may not make.

use std::fmt::Write as _;
use std::io::{Cursor, Read as _};

use fastrand::Rng;
use jiff::fmt::rfc2822;
use serde_json::{Value, json};
use tests::random_query::one;
use tests::{Answer, Request, Service};
use zip::ZipArchive;

use crate::building::{COLORS, EVALUATORS, WORDS, collection_of, path_of};
use crate::model::{Caller, Item, ItemPolicy, Model};
use crate::world::{GROUPS, World};

const HTML: &str = "text/html";

/// The members that an answer may have different values of.
const NOT_COMPARED: [&str; 3] = ["date", "x-request-id", "consistency-token"];

/// A request that can be sent again.
#[derive(Clone, Debug)]
pub struct Asked {
    method: &'static str,
    pub target: String,
    headers: Vec<(&'static str, String)>,
    body: Option<(&'static str, String)>,
}

/// An answer as far as it is compared, or as a client follows it.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub links: Vec<String>,
    pub etag: Option<String>,
    /// The `Last-Modified` of an item that was not written in the last seconds.
    modified: Option<String>,
}

impl Recorded {
    fn of(answer: &Answer) -> Self {
        let headers = answer.headers.iter();
        let headers = headers.filter(|(name, _)| !NOT_COMPARED.contains(&name.as_str()));
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let mut headers: Vec<_> =
            headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        // The name of an export has the day, and a test can run over midnight.
        for (_, value) in headers.iter_mut().filter(|(name, _)| name == "content-disposition") {
            *value = value.replace(|it: char| it.is_ascii_digit(), "0");
        }
        headers.sort();
        let is_hal = answer.header("content-type").is_some_and(|it| it.contains("json"));
        let is_workbook = answer.body.starts_with(b"PK");
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let links = ["next", "prev", "last", "first"].iter().filter_map(|relation| {
            Some(answer.path_of(value["_links"][relation]["href"].as_str()?))
        });
        Self {
            status: answer.status,
            headers,
            body: if is_workbook { workbook(&answer.body) } else { answer.body.to_vec() },
            links: if is_hal { links.collect() } else { Vec::new() },
            etag: answer.header("etag").map(ToOwned::to_owned),
            modified: settled(answer).map(ToOwned::to_owned),
        }
    }

    /// The answer as if it were about another item.
    pub fn about(&self, id: &str, other: &str) -> Self {
        let body = match std::str::from_utf8(&self.body) {
            Ok(text) => text.replace(id, other).into_bytes(),
            Err(_) => self.body.clone(),
        };
        let replaced = |(name, value): &(String, String)| (name.clone(), value.replace(id, other));
        Self { body, headers: self.headers.iter().map(replaced).collect(), ..self.clone() }
    }

    /// The answer to a dry run without the time and the id of the item that it would make.
    pub fn undated(&self) -> Self {
        let text = String::from_utf8_lossy(&self.body);
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let text = match value["id"].as_str() {
            Some(id) => text.replace(id, ""),
            None => text.into_owned(),
        };
        let mut parts = text.split("_at\":\"");
        let mut body = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            body += part.split_once('"').map_or(part, |(_, rest)| rest);
        }
        // The tag covers the members, if the caller does not see all of them.
        let dated = ["location", "last-modified", "etag"];
        let is_kept = |(name, _): &&(String, String)| !dated.contains(&name.as_str());
        let headers = self.headers.iter().filter(is_kept).cloned().collect();
        Self { body: body.into_bytes(), headers, ..self.clone() }
    }

    /// The parts of two answers that differ.
    pub fn difference(&self, other: &Self) -> String {
        let [one, other] =
            [self.text(), other.text()].map(|text| text.replace('{', "\n{").replace('<', "\n<"));
        let (one, other): (Vec<_>, Vec<_>) = (one.lines().collect(), other.lines().collect());
        let lines = |of: &[&str], without: &[&str], sign: char| {
            let differing = of.iter().filter(|line| !without.contains(line));
            differing.fold(String::new(), |text, line| text + &format!("{sign} {line}\n"))
        };
        lines(&one, &other, '-') + &lines(&other, &one, '+')
    }

    /// Returns whether it refuses members that the caller may not write.
    pub fn is_about_members(&self) -> bool {
        self.status == 403 && self.text().contains("members-not-permitted")
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, value) in &self.headers {
            writeln!(text, "{name}: {value}").unwrap();
        }
        text + &String::from_utf8_lossy(&self.body)
    }
}

/// The query that searches for a word.
pub fn search(word: &str) -> String {
    format!("q={}", word.replace('ñ', "%C3%B1"))
}

impl Asked {
    pub fn get(target: impl Into<String>) -> Self {
        Self { method: "GET", target: target.into(), headers: Vec::new(), body: None }
    }

    fn page(target: String) -> Self {
        Self { headers: vec![("accept", HTML.to_owned())], ..Self::get(target) }
    }

    pub fn write(method: &'static str, target: String, body: impl Into<Option<Value>>) -> Self {
        let body = body.into().map(|body: Value| ("application/json", body.to_string()));
        Self { method, body, ..Self::get(target) }
    }

    pub fn with(&self, header: &'static str, value: String) -> Self {
        Self { headers: [&self.headers[..], &[(header, value)]].concat(), ..self.clone() }
    }

    pub fn is_read(&self) -> bool {
        self.method != "POST" && self.body.is_none()
    }

    /// A reading request without conditions and negotiation.
    pub fn is_plain(&self) -> bool {
        self.method == "GET" && self.headers.is_empty()
    }

    pub fn send(&self, world: &World, caller: &str) -> Recorded {
        Recorded::of(&self.answer(world, caller))
    }

    pub fn answer(&self, world: &World, caller: &str) -> Answer {
        self.answer_of(world, &world.service, caller)
    }

    /// The answer of another service that knows the same callers.
    pub fn answer_of(&self, world: &World, service: &Service, caller: &str) -> Answer {
        let request: Request = service.request(self.method, &self.target);
        let headers = self.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name, value));
        let request = match &self.body {
            Some((content_type, body)) => request.body(content_type, body.as_str()),
            None => request,
        };
        let answer = world.callers.sign(caller, request).send_unchecked();
        assert!(answer.status < 500, "{caller}: {answer}");
        answer
    }

    /// The same request about another item.
    pub fn about(&self, id: &str, other: &str) -> Self {
        let replaced = |text: &String| text.replace(id, other);
        let headers = self.headers.iter().map(|(name, value)| (*name, replaced(value)));
        Self {
            method: self.method,
            target: replaced(&self.target),
            headers: headers.collect(),
            body: self.body.as_ref().map(|(media, body)| (*media, replaced(body))),
        }
    }

    /// Requests that a client makes with the answers to earlier ones.
    pub fn following(&self, answer: &Recorded) -> Vec<Self> {
        let mut next: Vec<_> = answer.links.iter().map(|link| Self::get(link.clone())).collect();
        if self.method == "GET" && self.headers.is_empty() && self.target != "/" {
            let tag = answer.etag.iter().map(|tag| self.with("if-none-match", tag.clone()));
            let date = answer.modified.iter();
            next.extend(tag.chain(date.map(|date| self.with("if-modified-since", date.clone()))));
        }
        next
    }
}

/// The items that requests are about.
pub struct Subjects<'a> {
    pub visible: Vec<&'a Item>,
    /// Items that were deleted or are not visible now, and have a visible version.
    pub past: Vec<&'a Item>,
    /// Also deleted ones.
    pub hidden: Vec<&'a Item>,
    pub middle: &'a str,
}

impl<'a> Subjects<'a> {
    pub fn new(model: &'a Model, policies: &[ItemPolicy], caller: Caller, middle: &'a str) -> Self {
        let sight = model.sight(policies, caller);
        let (visible, others): (Vec<_>, Vec<_>) =
            model.items.values().partition(|item| model.sees(policies, caller, item));
        let is_past = |item: &&Item| sight.iter().any(|(id, _)| *id == item.id);
        let (past, hidden) = others.into_iter().partition(is_past);
        Self { visible, past, hidden, middle }
    }

    fn some<'b>(random: &mut Rng, items: &'b [&'a Item]) -> Option<&'b &'a Item> {
        (!items.is_empty()).then(|| &items[random.usize(..items.len())])
    }

    fn id(&self, random: &mut Rng) -> String {
        let items = if random.bool() { &self.visible } else { &self.hidden };
        Self::some(random, items).map_or_else(|| absent(random), |item| item.id.clone())
    }

    pub fn random(&self, random: &mut Rng, count: usize) -> Vec<Asked> {
        let mut asked: Vec<_> = ["/v1/changes", "/v1/changes?page_size=3", "/v1/access", "/"]
            .map(Asked::get)
            .into_iter()
            .chain(["/explore", "/explore/changes"].map(|path| Asked::page(path.to_owned())))
            .collect();
        for group in GROUPS {
            asked.push(Asked::get(collection_of(group)));
            asked.push(Asked::page(format!("/explore/{group}")));
            asked.push(Asked::get(format!("/v1/changes?group={group}")));
        }
        while asked.len() < count {
            match random.u8(..9) {
                0..3 => asked.push(self.list(random)),
                3..5 => {
                    asked.extend(Self::some(random, &self.visible).map(|it| self.read(random, it)));
                }
                5 => asked.extend(Self::some(random, &self.hidden).map(|it| self.read(random, it))),
                6 => asked.extend(Self::some(random, &self.hidden).map(|it| refused(random, it))),
                7 => asked.extend(Self::some(random, &self.past).map(|it| self.read(random, it))),
                _ => asked.push(self.export(random)),
            }
        }
        let is_head = |asked: &&mut Asked| asked.is_plain() && random.u8(..20) == 0;
        asked.iter_mut().filter(is_head).for_each(|asked| asked.method = "HEAD");
        asked
    }

    fn member(random: &mut Rng, group: &str) -> &'static str {
        let own: &[&str] = match group {
            "proposals" => &["research_type", "start_date", "program_id", "project_title"],
            "status" => &["to_code", "subject", "color"],
            "gadscores" => &["evaluator_id", "rating", "proposal_id"],
            "cashprogram" => &["year", "proposal_id", "level"],
            "files" => &["document_type", "proposal_id", "color"],
            _ => &["color", "level", "expense_class", "title", "code"],
        };
        one(random, own)
    }

    fn selection(&self, random: &mut Rng, group: &str) -> Vec<String> {
        let mut query = Vec::new();
        if random.u8(..3) == 0 {
            let member = Self::member(random, group);
            let operator = one(random, &["", "[ne]", "[gte]", "[exists]", "[contains]", "[in]"]);
            let id = self.id(random);
            let value = match operator {
                "[exists]" => "true",
                _ if member.ends_with("_id") || member == "subject" => &id,
                _ => one(random, &[COLORS[0], EVALUATORS[0], "2026", "approved", "good", "3"]),
            };
            query.push(format!("filter[{member}]{operator}={value}"));
        }
        if random.u8(..4) == 0 {
            query.push(search(one(random, WORDS)));
        }
        if random.u8(..3) == 0 {
            let down = one(random, &["", "-"]);
            let member = Self::member(random, group);
            query
                .push(format!("sort={down}{}", one(random, &[member, member, "updated_at", "id"])));
        }
        query
    }

    /// A page of a collection, or of the library of a proposal.
    fn list(&self, random: &mut Rng) -> Asked {
        let group = one(random, &GROUPS);
        let mut path = collection_of(group);
        let mut shown = format!("/explore/{group}");
        if group == "lib" && random.bool() {
            let proposals = self.visible.iter().chain(&self.hidden);
            let proposals: Vec<_> = proposals.filter(|it| it.group == "proposals").collect();
            if !proposals.is_empty() {
                let id = &proposals[random.usize(..proposals.len())].id;
                path = format!("/v1/proposals/{id}/lib");
                shown = format!("/explore/proposals/{id}/lib");
            }
        }
        let is_past = random.u8(..6) == 0;
        let mut query = vec![format!("page_size={}", random.u8(1..6))];
        if is_past {
            query.push(format!("as_of={}", self.middle));
        } else {
            query.extend(self.selection(random, group));
            if random.u8(..3) == 0 {
                query.push(format!("count_by={}", Self::member(random, group)));
            }
            match group {
                "proposals" => {
                    query.push(format!("embed={}", one(random, &["lib", "program,lib"])));
                }
                "files" | "gadscores" | "cashprogram" | "lib" => {
                    query.push("embed=proposal".to_owned());
                }
                _ => {}
            }
        }
        if random.u8(..3) == 0 {
            query.push(format!("page={}", random.u8(1..5)));
        }
        if random.u8(..4) == 0 {
            query.push("total=none".to_owned());
        }
        if random.u8(..4) == 0 {
            query.push(format!("fields={}", Self::member(random, group)));
        }
        let query = query.join("&");
        if random.u8(..5) == 0 {
            query_of_a_page(&shown, &query)
        } else {
            Asked::get(format!("{path}?{query}"))
        }
    }

    fn export(&self, random: &mut Rng) -> Asked {
        let (group, format) =
            (one(random, &GROUPS), one(random, &["csv", "ndjson", "csv", "xlsx"]));
        let query = self.selection(random, group).join("&");
        Asked::get(format!("/exports/{group}.{format}?{query}"))
    }

    /// A request that reads an item in some way.
    pub fn read(&self, random: &mut Rng, item: &Item) -> Asked {
        let mut path = path_of(item);
        if let (Some(parent), true) = (&item.parent, random.bool()) {
            path = format!("/v1/proposals/{parent}/lib/{}", item.id);
        }
        let embed = match item.group {
            "proposals" => "?embed=lib,program",
            "files" | "gadscores" | "cashprogram" | "lib" => "?embed=proposal",
            _ => "",
        };
        let version = random.usize(1..item.versions.len() + 2);
        let page = format!("/explore/{}/{}", item.group, item.id);
        if item.group == "proposals" && random.u8(..4) == 0 {
            return self.read_library(random, &item.id);
        }
        match random.u8(..12) {
            0 | 1 => Asked::get(path),
            2 => Asked::get(path + embed),
            3 => Asked::get(format!("{path}?check=true")),
            4 => Asked::get(format!("{path}?as_of={}", self.middle)),
            5 => Asked::get(format!("{path}/versions")),
            6 => Asked::get(format!("{path}/versions/{version}")),
            7 => Asked::get(format!("{path}/versions/{version}/diff")),
            8 => Asked::page(page),
            9 => Asked::page(format!("{page}/history")),
            10 => Asked::page(format!("{page}/{}", one(random, &["edit", "diff?from=1&to=2"]))),
            _ => evaluation(item, one(random, &["read", "history"])),
        }
    }
}

impl Subjects<'_> {
    /// A request below a proposal.
    fn read_library(&self, random: &mut Rng, proposal: &str) -> Asked {
        let (path, id) = (format!("/v1/proposals/{proposal}/lib"), self.id(random));
        match random.u8(..6) {
            0 => Asked::get(path),
            1 => Asked::get(format!("{path}?as_of={}", self.middle)),
            2 => Asked::get(format!("{path}/{id}")),
            3 => Asked::get(format!("{path}/{id}/versions")),
            4 => Asked::page(format!("/explore/proposals/{proposal}/lib/new")),
            _ => Asked::page(format!("/explore/proposals/{proposal}/lib")),
        }
    }
}

fn query_of_a_page(path: &str, query: &str) -> Asked {
    let kept = query.split('&').filter(|part| !part.starts_with("embed="));
    Asked::page(format!("{path}?{}", kept.collect::<Vec<_>>().join("&")))
}

fn evaluation(item: &Item, operation: &str) -> Asked {
    let resource = json!({ "type": item.group, "id": item.id });
    let body = json!({ "action": { "name": operation }, "resource": resource });
    Asked::write("POST", "/access/v1/evaluation".to_owned(), body)
}

/// A write of an item that the caller does not see.
pub fn refused(random: &mut Rng, item: &Item) -> Asked {
    let path = path_of(item);
    let body = item.versions[0].clone().unwrap();
    let asked = match random.u8(..9) {
        0 => Asked::write("PUT", path, body),
        1 => Asked::write("PATCH", path, json!({"color": "red"})),
        2 => Asked::write("DELETE", path, None),
        3 => Asked::write("POST", format!("{path}/versions/1"), None),
        4 => Asked::write("POST", format!("{path}?dry_run=true"), body),
        5 => {
            Asked::write("POST", format!("/v1/proposals/{}/lib", item.id), json!({"color": "red"}))
        }
        6 => {
            let row = json!({ "id": item.id, "color": "red", "project_title": "a", "proposal_type": "b" });
            let upsert = one(random, &["", "&upsert=true"]);
            let target = format!("/imports/{}?dry_run=true{upsert}", item.group);
            let body = Some(("application/x-ndjson", format!("{row}\n")));
            Asked { body, ..Asked::write("POST", target, None) }
        }
        7 => Asked::write("PATCH", format!("{path}?dry_run=true"), json!({"level": 1})),
        _ => evaluation(item, one(random, &["patch", "delete", "replace"])),
    };
    if random.u8(..4) == 0 { asked.with("if-match", "\"1\"".to_owned()) } else { asked }
}

/// Returns the date of the last write, if the service accepts it as the state of an item: the date
/// does not tell two writes of one second apart.
fn settled(answer: &Answer) -> Option<&str> {
    let modified = answer.header("last-modified")?;
    let time = |date: &str| rfc2822::parse(date).unwrap().timestamp();
    let age = time(answer.header("date")?).duration_since(time(modified));
    (age.as_secs() > 3).then_some(modified)
}

/// The files of a workbook without the one that has the time.
pub fn workbook(body: &[u8]) -> Vec<u8> {
    let mut files = ZipArchive::new(Cursor::new(body)).unwrap();
    let mut text = Vec::new();
    for index in 0..files.len() {
        let mut file = files.by_index(index).unwrap();
        let name = file.name().unwrap().into_owned();
        if name != "docProps/core.xml" {
            text.extend(name.into_bytes());
            file.read_to_end(&mut text).unwrap();
        }
    }
    text
}

/// A write that names another item in a visible one or in a new one, as a dry run.
pub fn referring(random: &mut Rng, visible: &Item, id: &str) -> Asked {
    let members: &[&str] = match visible.group {
        "proposals" => &["program_id"],
        "status" => &["subject"],
        _ => &["proposal_id"],
    };
    let mut body = json!({ one(random, members): id });
    if random.bool() {
        return Asked::write("PATCH", format!("{}?dry_run=true", path_of(visible)), body);
    }
    let current = visible.current().unwrap().as_object().unwrap();
    for (name, value) in current {
        if body.get(name).is_none() {
            body[name] = value.clone();
        }
    }
    if visible.group == "lib" && random.bool() {
        let row = json!({ "proposal": id, "color": "red" });
        let body = Some(("application/x-ndjson", format!("{row}\n")));
        return Asked {
            body,
            ..Asked::write("POST", "/imports/lib?dry_run=true".to_owned(), None)
        };
    }
    Asked::write("POST", format!("{}?dry_run=true", collection_of(visible.group)), body)
}

/// An id that no item has.
pub fn absent(random: &mut Rng) -> String {
    format!("01890a5d-ac96-774b-bcce-{:012x}", random.u64(..1 << 48))
}
