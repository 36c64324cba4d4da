//! The pages for people: each is there, forms work without a script, errors are pages too, and
//! nothing that is stored becomes markup.

use serde_json::json;
use tests::{Answer, Service, Store, on_each_store};

use crate::UNKNOWN_ID;
use crate::rules::RuleFile;

/// The groups by their names in rules, and where their items are made.
const GROUPS: [(&str, &str); 8] = [
    ("proposedprograms", "/v1/proposedprograms"),
    ("gadscores", "/v1/gadscores"),
    ("statuses", "/v1/statuses"),
    ("files", "/v1/files"),
    ("lib", "/lib"),
    ("proposals", "/v1/proposals"),
    ("cashprogram", "/v1/cashprogram"),
    ("status", "/status"),
];

/// Strings that would be markup, a script, the end of an attribute or of an element.
const HOSTILE: [&str; 7] = [
    "<img src=x onerror=alert(1)>",
    "\"><script>alert(1)</script>",
    "' autofocus onfocus=alert(1) x='",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }} ${7*7} <%= 7 %>",
    "javascript:alert(1)//\u{2028}\u{202e}<svg onload=alert(1)>",
];

fn page(service: &Service, path: &str) -> Answer {
    let page = service.get(path).accept("text/html").send().expect(200);
    assert!(page.needed_header("content-type").starts_with("text/html"), "{page}");
    let policy = page.needed_header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    page
}

#[test]
fn every_group_has_all_pages() {
    on_each_store(|service| {
        for (group, path) in GROUPS {
            let body = json!({ "proposal_type": "x", "project_title": "first" }).to_string();
            let item = service.create(path, &body);
            service.put(&item.path).json(body.replace("first", "second")).send().expect(200);
            let own = format!("/explore/{group}/{}", item.id);
            for path in [
                format!("/explore/{group}"),
                format!("/explore/{group}?q=second&sort=-updated_at&page_size=1"),
                format!("/explore/{group}/new"),
                own.clone(),
                format!("{own}/edit"),
                format!("{own}/history"),
                format!("{own}/diff?from=1&to=2"),
            ] {
                let shown = page(service, &path);
                assert!(shown.text().contains("aria-current=\"page\""), "{shown}");
            }
            let difference = page(service, &format!("{own}/diff?from=2&to=1"));
            assert!(difference.text().contains("second") && difference.text().contains("first"));
        }
        for path in ["/explore", "/explore/changes", "/explore/changes?group=lib"] {
            page(service, path);
        }
        for path in ["/explore/rules", "/explore/playground?group=files", "/problems"] {
            page(service, path);
        }
    });
}

#[test]
fn a_rule_is_shown_as_it_is_written() {
    let rules = RuleFile::new(
        "rules:\n  - id: long_enough\n    group: files\n    lookup: {same: 'files[name = self.name]'}\n    check: size(self.name) > 3 && size(same) < 9 # <b>\n    message: too short\ncases:\n  - {rule: long_enough, name: a & b, self: {name: ab}, same: [], expect: fail}\n",
    );
    let service = Service::start_with(Store::Sqlite, &rules.arguments());
    let shown = page(&service, "/explore/rules/long_enough");
    for part in [
        "lookup: {same: &#39;files[name = self.name]&#39;}",
        "check: size(self.name) &#62; 3 &#38;&#38; size(same) &#60; 9 # &#60;b&#62;",
        "a &#38; b: <strong>fail</strong>",
        "name: a &#38; b, self: {name: ab}",
        "/explore/playground?rule=long_enough",
    ] {
        assert!(shown.text().contains(part), "no {part} in {shown}");
    }
    let playground = page(&service, "/explore/playground?rule=long_enough");
    for part in ["<option selected>files</option>", "\nid: long_enough\ngroup: files\nlookup:"] {
        assert!(playground.text().contains(part), "no {part} in {playground}");
    }
    let in_rust = page(&service, "/explore/rules/dates_in_order");
    assert!(!in_rust.text().contains("Definition"), "{in_rust}");
    let unknown = service.get("/explore/playground?rule=none").accept("text/html").send_unchecked();
    assert_eq!(unknown.status, 404);
}

#[test]
fn the_overview_says_what_runs_and_where_it_stores() {
    for (store, engine) in [(Store::Sqlite, "SQLite"), (Store::Postgres, "PostgreSQL")] {
        let overview = page(&Service::start(store), "/explore");
        let version = concat!("Version ", env!("CARGO_PKG_VERSION"), " (commit ");
        for fact in [version, ", schema ", &format!("The store, {engine}, <")] {
            assert!(overview.text().contains(fact), "no {fact} in {overview}");
        }
    }
}

#[test]
fn a_bar_of_a_year_leads_to_the_proposals_of_that_year() {
    on_each_store(|service| {
        for day in ["2015-12-31", "2016-01-01", "2016-12-31", "2017-01-01", "9999-12-31"] {
            let body = json!({"proposal_type": "a", "project_title": "Rice", "start_date": day});
            service.create("/v1/proposals", &body.to_string());
        }
        // A search waits until everything is indexed.
        service.get("/v1/proposals?q=rice").send().expect(200);
        let overview = page(service, "/explore");
        for (year, items) in [("2016", "2 proposals"), ("9999", "1 proposal")] {
            let start = format!("filter[start_date][gte]={year}");
            let href = overview.text().split('"').find(|part| part.contains(&start));
            let href = href.unwrap_or_else(|| panic!("no bar of {year} in {overview}"));
            let listed = page(service, &href.replace("&#38;", "&").replace("&amp;", "&"));
            assert!(listed.text().contains(items), "{listed}");
        }
    });
}

#[test]
fn the_overview_shows_the_cash_programme_by_month() {
    on_each_store(|service| {
        for (year, amounts) in [
            (2025, r#""jan_amount": "1""#),
            (2026, r#""jan_amount": "1234567.50", "dec_amount": 0.05"#),
            (2026, r#""jan_amount": "0.50", "feb_amount": "unknown""#),
            (2027, r#""mar_amount": "99""#),
        ] {
            let body = format!(r#"{{"year": {year}, "expense_object": "Travel", {amounts}}}"#);
            service.create("/v1/cashprogram", &body);
        }
        // A search waits until everything is indexed.
        service.get("/v1/cashprogram?q=travel").send().expect(200);
        let overview = page(service, "/explore");
        for fact in [
            "Cash programmes of 2027 by month: January: 0.00, February: 0.00, March: 99.00,",
            "Cash programmes of 2026 by month: January: 1,234,568.00, February: 0.00,",
            "December: 0.05",
            "?filter[year]=2026",
        ] {
            assert!(overview.text().contains(fact), "no {fact} in {overview}");
        }
        assert!(!overview.text().contains("Cash programmes of 2025"), "{overview}");
    });
}

#[test]
fn what_an_item_was_and_that_it_was_removed_is_shown() {
    on_each_store(|service| {
        let item = service.create("/v1/files", r#"{"filename":"first.pdf"}"#);
        let own = format!("/explore/files/{}", item.id);
        let time =
            service.get(&item.path).send().expect(200).value()["_meta"]["updated_at"].clone();
        service.put(&item.path).json(r#"{"filename":"second.pdf"}"#).send().expect(200);
        let then = page(service, &format!("{own}?as_of={}", time.as_str().expect("a time")));
        assert!(then.text().contains("first.pdf") && !then.text().contains("second.pdf"), "{then}");
        service.delete(&item.path).send().expect(204);
        let removed = page(service, &own);
        assert!(removed.text().contains("This item was removed"), "{removed}");
        assert!(removed.text().contains("data-restore"), "{removed}");
    });
}

#[test]
fn the_library_of_a_proposal_is_a_page() {
    let service = Service::start(Store::Sqlite);
    let body = r#"{"proposal_type":"x","project_title":"y"}"#;
    let [one, other] = [(); 2].map(|()| service.create("/v1/proposals", body));
    service.create(&format!("{}/lib", one.path), r#"{"title":"Of the one"}"#);
    let own = |id: &str| format!("/explore/proposals/{id}/lib");
    assert!(page(&service, &own(&one.id)).text().contains("Of the one"));
    assert!(!page(&service, &own(&other.id)).text().contains("Of the one"));
    assert!(page(&service, &format!("/explore/proposals/{}", one.id)).text().contains("/lib\""));
}

#[test]
fn a_table_shows_counts_by_value() {
    let service = Service::start(Store::Sqlite);
    for kind in ["letter", "letter", "plan"] {
        service.create("/v1/files", &json!({ "document_type": kind }).to_string());
    }
    let counted = page(&service, "/explore/files?count_by=document_type&page_size=1");
    for part in
        ["letter: 2", "plan: 1", "/explore/files?page_size=1&#38;filter[document_type]=plan"]
    {
        assert!(counted.text().contains(part), "{part} in {counted}");
    }
}

#[test]
fn forms_lead_to_the_query_that_they_stand_for() {
    let service = Service::start(Store::Sqlite);
    for (form, query) in [
        ("where=rating&operator=in&value=a%2Cb", "filter[rating][in]=a%2Cb"),
        ("q=&column=rating&column=stage&page=3", "fields=rating,stage"),
        ("at=2026-11-20T10%3A00", "as_of=2026-11-20T10%3A00:00Z"),
    ] {
        let answer = service.get(&format!("/explore/gadscores?{form}")).send().expect(303);
        let location = answer.needed_header("location");
        assert_eq!(location, format!("/explore/gadscores?{query}"));
        page(&service, location);
    }
}

#[test]
fn a_new_library_item_is_made_where_its_proposal_is_known() {
    let service = Service::start(Store::Sqlite);
    let title = json!({"proposal_type": "a", "project_title": "Rice & corn"}).to_string();
    let proposal = service.create("/v1/proposals", &title).id;
    let library = format!("/explore/proposals/{proposal}/lib");
    assert!(page(&service, &library).text().contains(&format!("href=\"{library}/new\"")));
    let form = page(&service, &format!("{library}/new"));
    let own = format!("href=\"/explore/proposals/{proposal}\">Rice &#38; corn</a>");
    for part in [&own, &format!("data-api=\"/v1/proposals/{proposal}/lib\"")] {
        assert!(form.text().contains(part.as_str()), "no {part} in {form}");
    }
    let unknown = format!("/explore/proposals/{UNKNOWN_ID}/lib/new");
    service.get(&unknown).accept("text/html").send_unchecked().expect(404);
}

#[test]
fn a_filter_that_cannot_be_read_is_told_beside_it_and_the_list_stays() {
    on_each_store(|service| {
        let title = json!({"proposal_type": "a", "project_title": "Rice"}).to_string();
        service.create("/v1/proposals", &title);
        let form = "q=rice&where=start_date&operator=gte&value=2016";
        let sent = service.get(&format!("/explore/proposals?{form}")).send().expect(303);
        let path = sent.needed_header("location");
        let shown = service.get(path).accept("text/html").send_unchecked().expect(400);
        for part in [
            ">Rice<",
            "takes a day",
            "value=\"start_date\"",
            "<option value=\"gte\" selected>",
            "value=\"2016\" aria-invalid=\"true\"",
            "href=\"/exports/proposals.csv?q=rice\"",
        ] {
            assert!(shown.text().contains(part), "no {part} in {shown}");
        }
        assert_eq!(shown.header("etag"), None, "it is no state to keep");
        let corrected =
            page(service, "/explore/proposals?q=rice&filter[start_date][lt]=2016-01-01");
        assert!(!corrected.text().contains("aria-invalid"), "{corrected}");
    });
}

#[test]
fn the_page_of_changes_is_of_all_groups_until_one_is_chosen() {
    let service = Service::start(Store::Sqlite);
    let chosen = |path: &str| {
        let shown = page(&service, path);
        let options = shown.text().split("<select id=\"group\"").nth(1).unwrap().to_owned();
        let end = options.find("</select>").unwrap();
        let select = options[..end].to_owned();
        assert!(select.contains("<option value=\"\">All groups</option>"), "{select}");
        select.split("<option selected>").nth(1).map(|rest| rest[..3].to_owned())
    };
    assert_eq!(chosen("/explore/changes"), None);
    assert_eq!(chosen("/explore/changes?group=lib").as_deref(), Some("lib"));
    let all = service.get("/explore/changes?group=").send().expect(303);
    assert_eq!(all.needed_header("location"), "/explore/changes");
}

#[test]
fn the_library_of_a_removed_proposal_is_shown_as_it_was() {
    on_each_store(|service| {
        let title = json!({"proposal_type": "a", "project_title": "Rice"}).to_string();
        let proposal = service.create("/v1/proposals", &title);
        let library = format!("{}/lib", proposal.path);
        let made = service.post(&library).json(r#"{"shelf":"B"}"#).send().expect(201);
        let time = made.value()["_meta"]["created_at"].as_str().unwrap().replace(':', "%3A");
        service.delete(&proposal.path).send().expect(204);
        let own = format!("/explore/proposals/{}", proposal.id);
        let past = page(service, &format!("{own}?as_of={time}"));
        let then = format!("{own}/lib?as_of={time}");
        assert!(past.text().contains(&format!("href=\"{then}\"")), "{past}");
        let listed = page(service, &then);
        assert!(listed.text().contains(&made.id()), "{listed}");
        // The library is gone with the proposal, whose history is left.
        let now = format!("<a href=\"{own}\">Show what there is now</a>");
        assert!(listed.text().contains(&now), "{listed}");
    });
}

#[test]
fn errors_are_pages() {
    let service = Service::start(Store::Sqlite);
    for (status, path, part) in [
        (400, "/explore/proposals?sort=start_dat".to_owned(), "did you mean"),
        (400, "/explore/proposals?filter[start_date][no]=1".to_owned(), "operator"),
        (400, "/explore?x=1".to_owned(), "x"),
        (400, format!("/explore/files/{UNKNOWN_ID}/diff?from=1"), "to"),
        (404, format!("/explore/files/{UNKNOWN_ID}"), "item-not-found"),
        (404, "/explore/files/no-id/edit".to_owned(), "item-not-found"),
        (404, "/explore/rules/nothing".to_owned(), "rule-not-found"),
        (404, "/explore/playground?rule=nothing".to_owned(), "rule-not-found"),
    ] {
        // An error of a page is no problem in JSON, as it is everywhere else.
        let answer = service.get(&path).send_unchecked().expect(status);
        assert!(answer.needed_header("content-type").starts_with("text/html"), "{answer}");
        assert!(answer.text().contains(part), "{answer}");
    }
    let answer = service.post("/explore/files").json("{}").send().expect(405);
    assert_eq!(answer.needed_header("allow"), "GET, HEAD, OPTIONS");
}

#[test]
fn an_item_of_very_many_members_holds_up_nobody() {
    let service = Service::start(Store::Sqlite);
    let members = |count: u32| {
        let members: Vec<_> = (0..count).map(|number| format!("\"m{number}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    let many = service.create("/v1/files", &members(30_000));
    service.patch(&many.path).json(r#"{"m1":2}"#).send().expect(200);
    let own = format!("/explore/files/{}", many.id);
    for path in [own.clone(), format!("{own}/edit"), format!("{own}/diff?from=1&to=2")] {
        page(&service, &path);
    }
    let too_many = service.create("/v1/files", &members(60_000));
    let own = format!("/explore/files/{}", too_many.id);
    for path in [own.clone(), format!("{own}/edit")] {
        service.get(&path).send_unchecked().expect(406);
    }
    page(&service, "/explore/files");
    page(&service, &format!("{own}/history"));
}

#[test]
fn stored_strings_never_become_markup() {
    let service = Service::start(Store::Sqlite);
    for hostile in HOSTILE {
        let members = json!({
            "filename": hostile, "title": hostile, "list": [hostile, "b"], "object": { hostile: hostile }, hostile: hostile,
        });
        let file = service.create("/v1/files", &members.to_string());
        let proposal = service.create(
            "/v1/proposals",
            &json!({ "proposal_type": hostile, "project_title": hostile, "specific_objectives": [hostile], "research_type": hostile, "start_date": "2026-01-01" })
                .to_string(),
        );
        for item in [&file, &proposal] {
            service.patch(&item.path).json(r#"{"description":"x"}"#).send().expect(200);
        }
        for (group, item) in [("files", &file), ("proposals", &proposal)] {
            let own = format!("/explore/{group}/{}", item.id);
            for path in [
                format!("/explore/{group}"),
                own.clone(),
                format!("{own}/edit"),
                format!("{own}/history"),
                format!("{own}/diff?from=1&to=2"),
                "/explore".to_owned(),
            ] {
                require_harmless(&page(&service, &path));
            }
        }
    }
    for found in ["onerror", "script", "autofocus"] {
        require_harmless(&page(&service, &format!("/explore/files?q={found}")));
    }
    let reflected = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for path in ["q=", "sort=", "filter[filename]=", "filter[", "fields=", "where=x&value="] {
        let path = format!("/explore/files?{path}{reflected}");
        require_harmless(&service.get(&path).send_unchecked());
    }
}

/// The elements and attributes of a page are its own.
fn require_harmless(page: &Answer) {
    let text = page.text();
    for markup in ["<script>", "<img", "<svg onload", "</textarea><script"] {
        assert!(!text.contains(markup), "{markup} in {page}");
    }
    // A quotation mark that is stored is escaped, so it ends no attribute.
    let in_attributes = text.split('<').filter_map(|piece| piece.split_once('>'));
    for (element, _) in in_attributes {
        let outside: String = element.split('"').step_by(2).collect();
        for attribute in ["onerror", "onfocus", "onload", "autofocus", "javascript:"] {
            assert!(!outside.contains(attribute), "{attribute} in <{element}>");
        }
        assert!(!element.contains("href=\"javascript:"), "<{element}>");
    }
}
