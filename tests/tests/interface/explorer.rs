//! The pages for people: each is there, forms work without a script, errors are pages too, and
//! nothing that is stored becomes markup.

use serde_json::json;
use tests::stores::TestDatabase;
use tests::{Answer, Service, Store};

use crate::UNKNOWN_ID;
use crate::collections::COLLECTIONS;
use crate::rules::RuleFile;

/// Strings that would be markup, a script, the end of an attribute or of an element.
pub const HOSTILE: [&str; 7] = [
    "<img src=x onerror=alert(1)>",
    "\"><script>alert(1)</script>",
    "' autofocus onfocus=alert(1) x='",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{ 7 * 7 }} ${7*7} <%= 7 %>",
    "javascript:alert(1)//\u{2028}\u{202e}<svg onload=alert(1)>",
];

tests::cases![
    the_overview_shows_version_and_database,
    every_group_has_all_pages,
    a_bar_of_a_year_leads_to_the_proposals_of_that_year,
    the_overview_shows_the_cash_programme_by_month,
    an_earlier_state_and_a_removal_are_shown,
    an_invalid_filter_is_reported_in_its_form_and_the_list_stays,
    the_library_of_a_removed_proposal_is_shown_as_it_was,
    a_table_shows_counts_by_value,
    forms_lead_to_their_query,
    the_library_of_a_proposal_is_a_page_with_a_form,
    the_page_of_changes_is_of_all_groups_until_one_is_chosen,
    errors_are_pages,
    an_item_of_very_many_members_delays_no_page,
    stored_strings_never_become_markup,
];

pub fn page(service: &Service, path: &str) -> Answer {
    let page = service.get(path).accept("text/html").expect(200);
    assert!(page.needed_header("content-type").starts_with("text/html"), "{page}");
    let policy = page.needed_header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    page
}

/// Asserts that a page contains all parts.
#[track_caller]
pub fn has(page: &Answer, parts: &[&str]) {
    for part in parts {
        assert!(page.text().contains(part), "no {part} in {page}");
    }
}

fn every_group_has_all_pages(service: &Service) {
    for (path, group) in COLLECTIONS {
        let body = json!({ "proposal_type": "x", "project_title": "first" }).to_string();
        let item = service.create(path, &body);
        service.replace(&item.path, body.replace("first", "second"));
        let own = format!("{group}/{}", item.id);
        for path in [
            *group,
            &format!("{group}?q=second&sort=-updated_at&page_size=1"),
            &format!("{group}/new"),
            &own,
            &format!("{own}/edit"),
            &format!("{own}/history"),
            &format!("{own}/diff?from=1&to=2"),
        ] {
            has(&page(service, &format!("/explore/{path}")), &["aria-current=\"page\""]);
        }
        has(&page(service, &format!("/explore/{own}/diff?from=2&to=1")), &["second", "first"]);
    }
    for path in [
        "/explore",
        "/explore/changes",
        "/explore/changes?group=lib",
        "/explore/rules",
        "/explore/playground?group=files",
        "/problems",
    ] {
        page(service, path);
    }
}

#[test]
fn a_rule_is_shown_as_written() {
    let rules = RuleFile::new(
        "rules:\n  - id: long_enough\n    group: files\n    lookup: {same: 'files[name = self.name]'}\n    check: size(self.name) > 3 && size(same) < 9 # <b>\n    message: too short\ncases:\n  - {rule: long_enough, name: a & b, self: {name: ab}, same: [], expect: fail}\n",
    );
    let service = Service::start_with(Store::Sqlite, &rules.arguments());
    has(
        &page(&service, "/explore/rules/long_enough"),
        &[
            "lookup: {same: &#39;files[name = self.name]&#39;}",
            "check: size(self.name) &#62; 3 &#38;&#38; size(same) &#60; 9 # &#60;b&#62;",
            "a &#38; b: <strong>fail</strong>",
            "name: a &#38; b, self: {name: ab}",
            "/explore/playground?rule=long_enough",
        ],
    );
    let playground = page(&service, "/explore/playground?rule=long_enough");
    has(
        &playground,
        &["<option selected>files</option>", "\nid: long_enough\ngroup: files\nlookup:"],
    );
    let in_rust = page(&service, "/explore/rules/dates_in_order");
    assert!(!in_rust.text().contains("Definition"), "{in_rust}");
}

#[test]
fn an_audit_lists_titles_and_messages() {
    let rules = RuleFile::new(
        "rules:\n  - {id: small, group: files, check: self.size < 9, message_expression: \"self.filename + ' is <large>'\"}\n  - {id: other, group: files, check: 'false', message: of another rule, severity: warning, effective: {from: 2099-01-01}}\n",
    );
    let database = TestDatabase::sqlite();
    let stored = Service::start_on(&database);
    for (name, size) in [("plan & <b>", "10"), ("small", "1"), ("", "10")] {
        stored.create("/v1/files", &format!(r#"{{"filename":"{name}","size":{size}}}"#));
    }
    let nameless = stored.create("/v1/files", r#"{"size":"x"}"#);
    drop(stored);
    let service = Service::start_on_with(&database, &rules.arguments());
    let audit = page(&service, "/explore/rules/small?audit=true");
    has(
        &audit,
        &[
            "<strong>3</strong> of all 4",
            "plan &#38; &#60;b&#62;</a><br>plan &#38; &#60;b&#62; is &#60;large&#62;</li>",
            &format!("{}</a><br>the rule `small` could not be evaluated", nameless.id),
        ],
    );
    assert!(!audit.text().contains("of another rule"), "{audit}");
}

fn the_overview_shows_version_and_database(service: &Service) {
    let is_sqlite = service.database().is_some_and(TestDatabase::is_sqlite);
    let database = if is_sqlite { "Database: SQLite, <" } else { "Database: PostgreSQL, <" };
    let version = concat!("Version ", env!("CARGO_PKG_VERSION"), " (commit ");
    has(&page(service, "/explore"), &[version, ", schema ", database]);
}

fn a_bar_of_a_year_leads_to_the_proposals_of_that_year(service: &Service) {
    for day in ["2015-12-31", "2016-01-01", "2016-12-31", "2017-01-01", "9999-12-31"] {
        let body = json!({"proposal_type": "a", "project_title": "Rice", "start_date": day});
        service.create("/v1/proposals", &body.to_string());
    }
    // A search waits until everything is indexed.
    service.read("/v1/proposals?q=rice");
    let overview = page(service, "/explore");
    for (year, items) in [("2016", "2 proposals"), ("9999", "1 proposal")] {
        let start = format!("filter[start_date][gte]={year}");
        let href = overview.text().split('"').find(|part| part.contains(&start));
        let href = href.unwrap_or_else(|| panic!("no bar of {year} in {overview}"));
        has(&page(service, &href.replace("&#38;", "&").replace("&amp;", "&")), &[items]);
    }
}

fn the_overview_shows_the_cash_programme_by_month(service: &Service) {
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
    service.read("/v1/cashprogram?q=travel");
    let overview = page(service, "/explore");
    has(
        &overview,
        &[
            "Cash programmes of 2027 by month: January: 0.00, February: 0.00, March: 99.00,",
            "Cash programmes of 2026 by month: January: 1,234,568.00, February: 0.00,",
            "December: 0.05",
            "?filter[year]=2026",
        ],
    );
    assert!(!overview.text().contains("Cash programmes of 2025"), "{overview}");
}

fn an_earlier_state_and_a_removal_are_shown(service: &Service) {
    let item = service.create("/v1/files", r#"{"filename":"first.pdf"}"#);
    let own = format!("/explore/files/{}", item.id);
    let time = service.read(&item.path).value()["_meta"]["updated_at"].clone();
    service.replace(&item.path, r#"{"filename":"second.pdf"}"#);
    let then = page(service, &format!("{own}?as_of={}", time.as_str().expect("a time")));
    assert!(then.text().contains("first.pdf") && !then.text().contains("second.pdf"), "{then}");
    service.remove(&item.path);
    has(&page(service, &own), &["This file description was deleted", "data-restore"]);
    let deleted = page(service, "/explore/files/deleted");
    let restore = format!("data-restore=\"{}/versions/2\"", item.path);
    has(&deleted, &["second.pdf", &restore]);
    service.post(&format!("{}/versions/2", item.path)).expect(201);
    let deleted = page(service, "/explore/files/deleted");
    assert!(!deleted.text().contains("second.pdf"), "{deleted}");
}

fn a_table_shows_counts_by_value(service: &Service) {
    for kind in ["letter", "letter", "plan"] {
        service.create("/v1/files", &json!({ "document_type": kind }).to_string());
    }
    let counted = page(service, "/explore/files?count_by=document_type&page_size=1");
    let link = "/explore/files?page_size=1&#38;filter[document_type]=plan";
    has(&counted, &["letter: 2", "plan: 1", link]);
}

fn forms_lead_to_their_query(service: &Service) {
    for (form, query) in [
        ("f.rating.in=a%2Cb&f.stage.eq=", "filter[rating][in]=a%2Cb"),
        ("q=&column=rating&column=stage&page=3", "fields=rating,stage"),
        ("at=2026-11-20T10%3A00", "as_of=2026-11-20T10%3A00%3A00.000000Z"),
    ] {
        let answer = service.get(&format!("/explore/gadscores?{form}")).expect(303);
        let location = answer.needed_header("location");
        assert_eq!(location, format!("/explore/gadscores?{query}"));
        page(service, location);
    }
}

fn the_library_of_a_proposal_is_a_page_with_a_form(service: &Service) {
    let title = json!({"proposal_type": "a", "project_title": "Rice & corn"}).to_string();
    let [one, other] = [(); 2].map(|()| service.create("/v1/proposals", &title));
    service.create(&format!("{}/lib", one.path), r#"{"title":"Of the one"}"#);
    let own = format!("/explore/proposals/{}", one.id);
    has(&page(service, &own), &["Of the one", &format!("href=\"{own}/lib/new\"")]);
    has(&page(service, &format!("{own}/lib")), &["Of the one", &format!("href=\"{own}/lib/new\"")]);
    let of_other = page(service, &format!("/explore/proposals/{}/lib", other.id));
    assert!(!of_other.text().contains("Of the one"), "{of_other}");
    let form = page(service, &format!("{own}/lib/new"));
    let proposal = format!("href=\"{own}\">Rice &#38; corn</a>");
    has(&form, &[&proposal, &format!("data-api=\"{}/lib\"", one.path)]);
    let unknown = format!("/explore/proposals/{UNKNOWN_ID}/lib/new");
    service.get(&unknown).accept("text/html").send_unchecked().expect(404);
}

fn an_invalid_filter_is_reported_in_its_form_and_the_list_stays(service: &Service) {
    let title = json!({"proposal_type": "a", "project_title": "Rice"}).to_string();
    service.create("/v1/proposals", &title);
    let form = "q=rice&f.start_date.gte=2016&f.end_date.gte=";
    let sent = service.get(&format!("/explore/proposals?{form}")).expect(303);
    let path = sent.needed_header("location");
    let shown = service.get(path).accept("text/html").send_unchecked().expect(400);
    has(
        &shown,
        &[
            ">Rice<",
            "takes a day",
            "<details class=\"filters\" open>",
            "name=\"f.start_date.gte\" type=\"date\" value=\"2016\" aria-invalid=\"true\"",
            "href=\"/exports/proposals.csv?q=rice\"",
        ],
    );
    assert_eq!(shown.header("etag"), None, "an error is not cached");
    let corrected = page(service, "/explore/proposals?q=rice&filter[start_date][lt]=2016-01-01");
    assert!(!corrected.text().contains("aria-invalid"), "{corrected}");
}

fn the_page_of_changes_is_of_all_groups_until_one_is_chosen(service: &Service) {
    for (query, chosen) in [("", None), ("?group=lib", Some("Library</option>"))] {
        let shown = page(service, &format!("/explore/changes{query}"));
        let select = shown.text().split("<select id=\"group\"").nth(1).expect("a list of groups");
        let (select, _) = select.split_once("</select>").expect("an end");
        assert!(select.contains("<option value=\"\">All record types</option>"), "{select}");
        let selected = select.split(" selected>").nth(1);
        assert_eq!(selected.is_some(), chosen.is_some(), "{select}");
        assert!(selected.unwrap_or_default().starts_with(chosen.unwrap_or_default()), "{select}");
    }
    let all = service.get("/explore/changes?group=").expect(303);
    assert_eq!(all.needed_header("location"), "/explore/changes");
}

fn the_library_of_a_removed_proposal_is_shown_as_it_was(service: &Service) {
    let title = json!({"proposal_type": "a", "project_title": "Rice"}).to_string();
    let proposal = service.create("/v1/proposals", &title);
    let item = service.create(&format!("{}/lib", proposal.path), r#"{"shelf":"B"}"#);
    let time = service.read(&item.path).value()["_meta"]["created_at"].clone();
    let time = time.as_str().expect("a time").replace(':', "%3A");
    service.remove(&proposal.path);
    let own = format!("/explore/proposals/{}", proposal.id);
    let then = format!("{own}/lib?as_of={time}");
    has(&page(service, &format!("{own}?as_of={time}")), &[&format!("href=\"{then}\"")]);
    // The library is gone with the proposal, whose history is left.
    let now = format!("<a href=\"{own}\">its history</a>");
    has(&page(service, &then), &[&item.id, &now]);
}

fn errors_are_pages(service: &Service) {
    for (status, path, part) in [
        (400, "/proposals?sort=start_dat", "Did you mean"),
        (400, "/proposals?filter[start_date][no]=1", "operator"),
        (400, "?x=1", "x"),
        (400, &format!("/files/{UNKNOWN_ID}/diff?from=1"), "to"),
        (404, &format!("/files/{UNKNOWN_ID}"), "item-not-found"),
        (404, "/files/no-id/edit", "item-not-found"),
        (404, "/rules/nothing", "rule-not-found"),
        (404, "/playground?rule=nothing", "rule-not-found"),
    ] {
        let answer = service.get(&format!("/explore{path}")).send_unchecked().expect(status);
        assert!(answer.needed_header("content-type").starts_with("text/html"), "{answer}");
        has(&answer, &[part]);
    }
    let answer = service.post("/explore/files").json("{}").expect(405);
    assert_eq!(answer.needed_header("allow"), "GET, HEAD, OPTIONS");
}

fn an_item_of_very_many_members_delays_no_page(service: &Service) {
    let create = |members: u32| {
        let members: Vec<_> = (0..members).map(|number| format!("\"m{number}\":1")).collect();
        service.create("/v1/files", &format!("{{{}}}", members.join(",")))
    };
    let many = create(30_000);
    service.change(&many.path, r#"{"m1":2}"#);
    for end in ["", "/edit", "/diff?from=1&to=2"] {
        page(service, &format!("/explore/files/{}{end}", many.id));
    }
    let own = format!("/explore/files/{}", create(60_000).id);
    for end in ["", "/edit"] {
        service.get(&format!("{own}{end}")).send_unchecked().expect(406);
    }
    page(service, "/explore/files");
    page(service, &format!("{own}/history"));
}

fn stored_strings_never_become_markup(service: &Service) {
    for hostile in HOSTILE {
        let file = json!({
            "filename": hostile, "title": hostile, "list": [hostile, "b"], "object": { hostile: hostile }, hostile: hostile,
        });
        let proposal = json!({
            "proposal_type": hostile, "project_title": hostile, "specific_objectives": [hostile],
            "research_type": hostile, "start_date": "2026-01-01",
        });
        for (group, body) in [("files", file), ("proposals", proposal)] {
            let item = service.create(&format!("/v1/{group}"), &body.to_string());
            service.change(&item.path, r#"{"description":"x"}"#);
            let own = format!("/{group}/{}", item.id);
            for path in [
                "",
                "/changes",
                &format!("/{group}"),
                &own,
                &format!("{own}/edit"),
                &format!("{own}/history"),
                &format!("{own}/diff?from=1&to=2"),
            ] {
                require_harmless(&page(service, &format!("/explore{path}")));
            }
        }
    }
    for found in ["onerror", "script", "autofocus"] {
        require_harmless(&page(service, &format!("/explore/files?q={found}")));
    }
    let reflected = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for path in ["q=", "sort=", "filter[filename]=", "filter[", "fields=", "f.x.eq="] {
        let path = format!("/explore/files?{path}{reflected}");
        require_harmless(&service.get(&path).send_unchecked());
    }
}

/// The elements and attributes of a page are its own.
pub fn require_harmless(page: &Answer) {
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
