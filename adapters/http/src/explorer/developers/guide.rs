//! `/guide`: the chapters of `docs/guide` as pages. A test runs their requests.

use std::mem;

use askama::Template;
use poem::Request;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::base_url::BaseUrl;
use crate::explorer::Explorer;
use crate::explorer::links::ExplorerLinks;
use crate::explorer::page::{Layout, render};
use crate::problem::Result;

const ROOT: &str = "/guide";

/// Pages show the address of their service instead.
const DOCUMENTED_ADDRESS: &str = "http://127.0.0.1:8080";

static CONTENTS: Chapter =
    Chapter { name: "", text: include_str!("../../../../../docs/guide/README.md") };

static CHAPTERS: [Chapter; 12] = [
    Chapter { name: "make", text: include_str!("../../../../../docs/guide/make.md") },
    Chapter { name: "find", text: include_str!("../../../../../docs/guide/find.md") },
    Chapter { name: "page", text: include_str!("../../../../../docs/guide/page.md") },
    Chapter { name: "files", text: include_str!("../../../../../docs/guide/files.md") },
    Chapter {
        name: "change-safely",
        text: include_str!("../../../../../docs/guide/change-safely.md"),
    },
    Chapter { name: "retry", text: include_str!("../../../../../docs/guide/retry.md") },
    Chapter { name: "look-back", text: include_str!("../../../../../docs/guide/look-back.md") },
    Chapter { name: "follow", text: include_str!("../../../../../docs/guide/follow.md") },
    Chapter { name: "rules", text: include_str!("../../../../../docs/guide/rules.md") },
    Chapter { name: "errors", text: include_str!("../../../../../docs/guide/errors.md") },
    Chapter { name: "limits", text: include_str!("../../../../../docs/guide/limits.md") },
    Chapter {
        name: "accessibility",
        text: include_str!("../../../../../docs/guide/accessibility.md"),
    },
];

/// Code block languages and their labels. Of consecutive blocks the first is open, as is the
/// output of a command.
const LANGUAGES: [(&str, &str); 7] = [
    ("sh", "curl"),
    ("python", "Python"),
    ("typescript", "TypeScript"),
    ("powerquery", "Excel and Power BI (Power Query)"),
    ("json", "Answer"),
    ("http", "Answer"),
    ("text", "Answer"),
];

pub struct Chapter {
    name: &'static str,
    text: &'static str,
}

impl Chapter {
    fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    pub fn path(&self) -> String {
        if self.name.is_empty() { ROOT.to_owned() } else { format!("{ROOT}/{}", self.name) }
    }
}

#[derive(Template)]
#[template(path = "explorer/guide.html")]
struct GuidePage<'a> {
    layout: Layout<'a>,
    /// Addresses and titles; true for the current one.
    chapters: Vec<(String, &'static str, bool)>,
    text: String,
    next: Option<(String, &'static str)>,
}

pub fn chapters() -> impl Iterator<Item = &'static Chapter> {
    std::iter::once(&CONTENTS).chain(&CHAPTERS)
}

impl Explorer {
    pub(in crate::explorer) fn show_chapter(
        &self,
        chapter: &'static Chapter,
        request: &Request,
    ) -> Result<String> {
        let link = |other: &Chapter| {
            (self.links.to(&other.path()), other.title(), other.name == chapter.name)
        };
        let next = chapters().skip_while(|it| it.name != chapter.name).nth(1);
        render(&GuidePage {
            layout: self.layout(request, chapter.title(), "guide", None),
            chapters: CHAPTERS.iter().map(link).collect(),
            text: html(chapter.text, &self.links, &self.context.base_url),
            next: next.map(|next| (self.links.to(&next.path()), next.title())),
        })
    }
}

fn html(markdown: &str, links: &ExplorerLinks, base_url: &BaseUrl) -> String {
    let mut converter = Converter { links, closing: "", is_title: false, has_code: false };
    let markdown = markdown.replace(DOCUMENTED_ADDRESS, base_url.as_str());
    let events = Parser::new_ext(&markdown, Options::ENABLE_TABLES);
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events.filter_map(|event| converter.convert(event)));
    // Wide tables scroll separately. Code is escaped, so every match is a table.
    html.replace(
        "<table>",
        "<div class=\"table\" role=\"region\" aria-label=\"Table\" tabindex=\"0\"><table>",
    )
    .replace("</table>", "</table></div>")
}

struct Converter<'a> {
    links: &'a ExplorerLinks,
    closing: &'static str,
    is_title: bool,
    /// True after a code block: alternatives in other languages may follow.
    has_code: bool,
}

impl Converter<'_> {
    fn convert<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        let has_code = mem::take(&mut self.has_code);
        Some(match event {
            // The page has its own title.
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
                self.is_title = true;
                return None;
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                self.is_title = false;
                return None;
            }
            _ if self.is_title => return None,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(words))) => {
                Event::Html(self.open(&words, has_code).into())
            }
            Event::End(TagEnd::CodeBlock) => {
                self.has_code = true;
                Event::Html(self.closing.into())
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                Event::Start(Tag::Link { link_type, dest_url: self.target(dest_url), title, id })
            }
            other => other,
        })
    }

    fn open(&mut self, words: &str, is_alternative: bool) -> String {
        let word = words.split(' ').next().unwrap_or_default();
        let known = LANGUAGES.iter().find(|(name, _)| *name == word);
        let label = known.map_or("", |(_, label)| label);
        let is_folded = is_alternative && label != "Answer";
        let (element, end, summary) = if is_folded {
            ("details", "</code></pre></details>", "summary")
        } else {
            ("div", "</code></pre></div>", "p")
        };
        self.closing = end;
        format!(
            "<{element} class=\"code\"><{summary} class=\"language\">{label}</{summary}><pre tabindex=\"0\"><code>"
        )
    }

    fn target<'e>(&self, url: CowStr<'e>) -> CowStr<'e> {
        match url.strip_suffix(".md") {
            Some("README") => self.links.to(ROOT).into(),
            Some(name) => self.links.to(&format!("{ROOT}/{name}")).into(),
            None if url.starts_with('/') => self.links.to(&url).into(),
            None => url,
        }
    }
}
