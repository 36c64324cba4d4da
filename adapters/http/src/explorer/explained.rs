//! The pages of problems and link relations.

use askama::Template;

use super::Explorer;
use super::page::{Layout, render};
use crate::problem::{Problem, ProblemKind, Result, kinds};

#[derive(Template)]
#[template(path = "explorer/problems.html")]
struct ProblemsPage<'a> {
    layout: Layout<'a>,
    kinds: &'static [ProblemKind],
}

#[derive(Template)]
#[template(path = "explorer/explanation.html")]
struct ExplanationPage<'a> {
    layout: Layout<'a>,
    text: &'a str,
    example: Option<String>,
    all: Option<(String, &'static str)>,
}

impl Explorer {
    pub fn problems(&self) -> Result<String> {
        render(&ProblemsPage { layout: self.layout("Problems", "", None), kinds: kinds::ALL })
    }

    pub fn problem(&self, kind: &'static ProblemKind) -> Result<String> {
        let example = Problem::new(kind, format!("{}.", kind.title));
        let example = example.to_json(&self.context.base_url, "/v1/proposals");
        render(&ExplanationPage {
            layout: self.layout(format!("{} {}", kind.status.as_u16(), kind.title), "", None),
            text: kind.explanation,
            example: serde_json::to_string_pretty(&example).ok(),
            all: Some((self.links.to("/problems"), "All problems")),
        })
    }

    pub fn relation(&self, name: &str, text: &str) -> Result<String> {
        let target = format!("{}/v1/…", self.context.base_url);
        let example = serde_json::json!({ "_links": { name: { "href": target } } });
        render(&ExplanationPage {
            layout: self.layout(format!("Link relation “{name}”"), "", None),
            text,
            example: serde_json::to_string_pretty(&example).ok(),
            all: None,
        })
    }
}
