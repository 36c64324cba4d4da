//! The pages of problems and link relations.

use askama::Template;
use poem::Request;

use crate::endpoints::problem_pages::Subject;
use crate::explorer::Explorer;
use crate::explorer::page::{Layout, render};
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
    pub fn explanation(&self, request: &Request, subject: &Subject) -> Result<String> {
        let (title, text, example, all) = match subject {
            Subject::Problems => {
                let layout = self.layout(request, "Problems", "", None);
                return render(&ProblemsPage { layout, kinds: kinds::ALL });
            }
            Subject::Problem(kind) => {
                let example = Problem::new(kind, format!("{}.", kind.title));
                let example = example.to_json(&self.context.base_url, "/v1/proposals");
                let all = (self.links.to("/problems"), "All problems");
                let title = format!("{} {}", kind.status.as_u16(), kind.title);
                (title, kind.explanation, example, Some(all))
            }
            Subject::Relation(name, text) => {
                let target = format!("{}/v1/…", self.context.base_url);
                let example = serde_json::json!({ "_links": { *name: { "href": target } } });
                (format!("Link relation “{name}”"), &**text, example, None)
            }
        };
        render(&ExplanationPage {
            layout: self.layout(request, title, "", None),
            text,
            example: serde_json::to_string_pretty(&example).ok(),
            all,
        })
    }
}
