//! Suggestions for unknown paths.

use domain::nearest;

/// In bytes. Longer paths get no suggestion.
const LONGEST: usize = 200;
const MOST_SEGMENTS: usize = 8;

const VERSION: &str = "v1";

/// Compares with templates, whose parameters are `:name`.
pub fn meant(templates: &[String], path: &str) -> Option<String> {
    let asked = segments(path);
    if path.len() > LONGEST || asked.len() > MOST_SEGMENTS {
        return None;
    }
    let is_as_long = |template: &&String| segments(template).len() == asked.len();
    let mut candidates: Vec<_> = templates.iter().filter(is_as_long).collect();
    for (index, segment) in asked.iter().enumerate() {
        let literal = |template: &String| {
            Some(segments(template)[index].to_owned()).filter(|it| !it.starts_with(':'))
        };
        let literals: Vec<_> = candidates.iter().filter_map(|template| literal(template)).collect();
        let exact = literals.iter().find(|literal| *literal == segment).map(String::as_str);
        let meant = exact.or_else(|| nearest(segment, literals.iter().map(String::as_str)));
        candidates.retain(|template| literal(template).as_deref() == meant);
    }
    let template = candidates.first()?;
    let found = filled(template, &asked);
    (found != path).then_some(found)
}

fn segments(path: &str) -> Vec<&str> {
    let mut segments: Vec<_> = path.trim_matches('/').split('/').collect();
    if segments.len() > 1 && segments[0] == VERSION {
        segments.remove(0);
    }
    segments
}

fn filled(template: &str, asked: &[&str]) -> String {
    let own = segments(template);
    let segments: Vec<_> = own
        .iter()
        .zip(asked)
        .map(|(own, asked)| if own.starts_with(':') { asked } else { own })
        .copied()
        .collect();
    let version = if template.starts_with("/v1/") { "/v1" } else { "" };
    format!("{version}/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn the_path_that_was_meant_is_found() {
        let templates = [
            "/",
            "/lib",
            "/lib/:lib_id",
            "/v1/proposals",
            "/v1/proposals/:proposals_id",
            "/v1/proposals/:proposals_id/lib",
            "/v1/proposedprograms",
            "/v1/changes",
            "/v1/changes/stream",
            "/explore/proposals",
            "/explore/proposals/:item_id",
            "/explore/proposals/new",
        ];
        let templates = templates.map(str::to_owned);
        for (path, expected) in [
            ("/v1/Proposals", Some("/v1/proposals")),
            ("/v1/lib/7", Some("/lib/7")),
            ("/v1/proposal/7/lib", Some("/v1/proposals/7/lib")),
            ("/v1/proposals/7/libs", Some("/v1/proposals/7/lib")),
            ("/v1/change/stream", Some("/v1/changes/stream")),
            ("/explore/proposal/7", Some("/explore/proposals/7")),
            ("/v1/xyz", None),
            ("/v1/proposals/7/files", None),
            ("/", None),
            ("//////////", Some("/")),
        ] {
            assert_eq!(meant(&templates, path).as_deref(), expected, "{path}");
        }
        assert_eq!(meant(&templates, &format!("/v1/proposal/{}", "x".repeat(200))), None);
    }
}
