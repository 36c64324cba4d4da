//! Every page of the explorer costs the same in a small and in a large store.

use std::thread::sleep;
use std::time::Duration;

use crate::examined::{Examined, examined};
use crate::store::{FilledService, GROUPS, VERSIONS};

/// Of all groups together. The small store fills each page.
const SMALL: u64 = 10_000;

/// Another plan may read the items of a page once more; the largest page has 250.
const TOLERATED_SHARE: u64 = 10;
const TOLERATED_ROWS: u64 = 250;

/// The matches that are counted and ranked at most, and the items before a page that no mark leads to.
const COUNTED: u64 = 10_000;

/// How the cost of a page may grow with the number of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Same,
    /// Reads at most the rows of two counts for each of these selections. The statement that reads the
    /// marks of pages may be added.
    Bounded(u64),
    /// Reads the collection, as docs/operations.md says, or too many entries of an index. The
    /// statements that a slow read needs to begin may be added.
    Grows,
}

struct Page {
    name: String,
    path: String,
    cost: Cost,
}

#[derive(Debug, PartialEq, Eq)]
struct Measured {
    read: Examined,
    table_rows: usize,
}

#[test]
fn pages_cost_the_same_in_a_large_store() {
    let is_full = std::env::var("TEST_GROWTH").is_ok_and(|it| it == "full");
    let large = if is_full { 1_000_000 } else { 100_000 };
    let [small, large] = [SMALL, large].map(|items| measure(&FilledService::start(items)));
    let mut refused = Vec::new();
    for ((page, before), (_, after)) in small.iter().zip(&large) {
        let (few, many) = (before.read, after.read);
        println!(
            "{:60} {:?} statements {} {} rows {} {}",
            page.name, page.cost, few.statements, many.statements, few.rows, many.rows
        );
        let is_alike = before.table_rows == after.table_rows;
        let is_as_expected = match page.cost {
            Cost::Same => {
                many.statements == few.statements
                    && many.rows <= few.rows + few.rows / TOLERATED_SHARE + TOLERATED_ROWS
            }
            Cost::Bounded(selections) => {
                many.statements <= few.statements + 1
                    && many.rows <= few.rows + selections * 2 * COUNTED
            }
            Cost::Grows => many.statements <= few.statements + 2,
        };
        if !(is_alike && is_as_expected) {
            refused.push(format!("{}: {before:?}, then {after:?}", page.name));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Asks for each page twice: first to prepare connections, plans and marks.
fn measure(filled: &FilledService) -> Vec<(Page, Measured)> {
    let pages = pages(filled);
    for page in &pages {
        measured(filled, page);
    }
    filled.change_all(VERSIONS);
    sleep(Duration::from_secs(1));
    let measured = |page: Page| {
        let measured = measured(filled, &page);
        (page, measured)
    };
    pages.into_iter().map(measured).collect()
}

fn measured(filled: &FilledService, page: &Page) -> Measured {
    let begin = filled.service.log_length();
    let answer = filled.service.get(&page.path).accept("text/html").expect(200);
    let text = answer.text();
    for empty in ["<p>There are no", " match. <a"] {
        assert!(!text.contains(empty), "{} is empty", page.name);
    }
    if page.path == "/explore/proposals" {
        let thousands = (filled.items * 8 / 20) / 1_000;
        assert!(
            text.contains(&format!("<p>{thousands},001 proposals</p>")),
            "the total of {answer}"
        );
    }
    // The driver may log a plan just after the answer.
    sleep(Duration::from_millis(20));
    Measured {
        read: examined(&filled.service.log_from(begin)),
        table_rows: text.matches("<tr").count(),
    }
}

fn pages(filled: &FilledService) -> Vec<Page> {
    let mut pages = vec![
        page("", Cost::Same),
        page("/changes", Cost::Same),
        page("/search?q=kadyos", Cost::Bounded(7)),
        page("/search?q=palay", Cost::Grows),
        page("/rules", Cost::Same),
        page("/playground", Cost::Same),
    ];
    for (group, _) in GROUPS {
        pages.extend(of_group(filled, group));
    }
    pages.extend(of_proposals(filled));
    pages
}

fn page(path: &str, cost: Cost) -> Page {
    Page { name: format!("/explore{path}"), path: format!("/explore{path}"), cost }
}

fn of_group(filled: &FilledService, group: &str) -> Vec<Page> {
    let id = &filled.written[group].id;
    let own = |rest: &str, cost| Page {
        name: format!("/explore/{group}/ID{rest}"),
        ..page(&format!("/{group}/{id}{rest}"), cost)
    };
    let mut pages = vec![
        own("", Cost::Same),
        own("/edit", Cost::Same),
        own("/history", Cost::Same),
        own("/history?page=2&page_size=5", Cost::Same),
        own("/diff?from=1&to=12", Cost::Same),
        page(&format!("/changes?group={group}"), Cost::Same),
    ];
    let title = if group == "proposals" { "project_title" } else { "title" };
    for (rest, cost) in [
        ("", Cost::Same),
        ("?page=2", Cost::Same),
        ("?page_size=250", Cost::Same),
        ("?sort=-updated_at", Cost::Same),
        ("?q=kadyos", Cost::Bounded(1)),
        ("?as_of=2024-01-01T01:00:00Z", Cost::Grows),
    ] {
        pages.push(page(&format!("/{group}{rest}"), cost));
    }
    pages.push(page(&format!("/{group}?count_by={title}"), Cost::Grows));
    pages.push(page(&format!("/{group}?sort={title}"), Cost::Grows));
    if group != "lib" {
        for rest in ["/deleted", "/import", "/new"] {
            pages.push(page(&format!("/{group}{rest}"), Cost::Same));
        }
    }
    pages
}

fn of_proposals(filled: &FilledService) -> Vec<Page> {
    let id = &filled.written["proposals"].id;
    let items = filled.items * 8 / 20;
    let named = |name: &str, path: &str, cost| Page { name: name.into(), ..page(path, cost) };
    let mut pages = vec![
        named("/explore/proposals/ID/lib", &format!("/proposals/{id}/lib"), Cost::Same),
        named(
            "/explore/proposals/ID/lib?page=2",
            &format!("/proposals/{id}/lib?page=2&page_size=5"),
            Cost::Same,
        ),
        named("/explore/proposals/ID/lib/new", &format!("/proposals/{id}/lib/new"), Cost::Same),
        named(
            "/explore/files/new?proposal_id=ID",
            &format!("/files/new?proposal_id={id}"),
            Cost::Same,
        ),
        named(
            "/explore/files?filter[proposal_id]=ID",
            &format!("/files?filter[proposal_id]={id}"),
            Cost::Same,
        ),
        named("a page in the middle", &format!("/proposals?page={}", items / 50), Cost::Bounded(1)),
        named("the last page", &format!("/proposals?page={}", items / 25), Cost::Same),
    ];
    for (query, cost) in [
        ("filter[researcher_id]=R-7", Cost::Same),
        ("filter[researcher_id]=R-7&count_by=research_type", Cost::Same),
        ("filter[program_id]=01920000-0007-7000-8000-000000000000", Cost::Same),
        ("filter[start_date][gte]=2031-01-01", Cost::Same),
        ("filter[start_date][gte]=2021-01-01", Cost::Grows),
        ("filter[updated_at][lt]=2024-01-01T00:00:40Z", Cost::Same),
        ("filter[updated_at][lt]=2024-01-01T00:00:40Z&sort=updated_at", Cost::Same),
        ("sort=start_date", Cost::Same),
        ("sort=-start_date", Cost::Same),
        ("page=40", Cost::Same),
        ("filter[research_type]=Basic", Cost::Grows),
        ("filter[proposal_type]=R%26D%20Project", Cost::Grows),
        ("filter[project_title][contains]=kadyos", Cost::Grows),
        ("count_by=research_type", Cost::Grows),
        ("q=palay", Cost::Grows),
        ("q=palay&page=2", Cost::Grows),
    ] {
        pages.push(page(&format!("/proposals?{query}"), cost));
    }
    pages
}
