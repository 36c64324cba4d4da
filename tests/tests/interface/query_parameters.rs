//! Query parameters: every operation knows its parameters and refuses all others, and
//! nothing hostile does harm.

use serde_json::Value;
use tests::{Request, Service, on_each_store, send_bytes};

use crate::PROPOSAL;
use crate::queries::{FILES, encoded, every_collection};

/// A request of each kind of operation: its method, whether it is on an item, and whether it has a
/// body.
const OPERATIONS: &[(&str, bool, bool)] = &[
    ("GET", false, false),
    ("HEAD", false, false),
    ("POST", false, true),
    ("GET", true, false),
    ("HEAD", true, false),
    ("PUT", true, true),
    ("PATCH", true, true),
    ("DELETE", true, false),
];

/// Every operation of every collection, asked with a query.
fn every_operation(service: &Service, query: &str) -> Vec<(&'static str, bool, Request)> {
    let mut requests = Vec::new();
    for collection in every_collection(service) {
        let item = service.create(&collection, PROPOSAL);
        let mut add = |method, is_item: bool, body: Option<&str>| {
            let path = if is_item { &item.path } else { &collection };
            let request = service.request(method, &format!("{path}?{query}"));
            requests.push((method, is_item, body.into_iter().fold(request, Request::json)));
        };
        for (method, is_item, has_body) in OPERATIONS {
            add(*method, *is_item, has_body.then_some(PROPOSAL));
        }
        if ["/v1/proposals", "/v1/cashprogram"].contains(&collection.as_str()) {
            add("POST", true, Some(PROPOSAL));
        }
        if collection == "/v1/cashprogram" {
            add("PUT", false, Some("[]"));
        }
    }
    requests
}

/// Asserts a 400 that names the parameter; a HEAD has no body to name it in.
#[track_caller]
fn refuses(method: &str, request: Request, mentioned: &str) {
    let answer = request.send().expect(400);
    if method != "HEAD" {
        answer.refusing_query(&[mentioned]);
    }
}

#[test]
fn an_unknown_parameter_is_refused_by_every_operation_and_nothing_is_written() {
    on_each_store(|service| {
        for query in ["colour=blue", "_=1700000000", "colour", "co%6Cour=", "colour[x]=1"] {
            let requests = every_operation(service, query);
            let contents = || {
                ["/v1/proposals", "/lib", "/v1/cashprogram", FILES, "/status"]
                    .map(|collection| service.contents(collection))
            };
            let before = contents();
            for (method, _, request) in requests {
                refuses(method, request, if query.starts_with('_') { "`_`" } else { "colour" });
            }
            assert_eq!(contents(), before, "{query}");
        }
    });
}

#[test]
fn each_operation_takes_its_own_parameters_only() {
    on_each_store(|service| {
        for parameter in [
            "page=1",
            "page_size=5",
            "sort=id",
            "q=rice",
            "total=none",
            "cursor=x",
            "filter[proposal_type]=x",
            "fields=id",
        ] {
            let name = parameter.split(['=', '[']).next().unwrap();
            for (method, is_item, request) in every_operation(service, parameter) {
                let is_read = ["GET", "HEAD"].contains(&method);
                let is_known = is_read && (!is_item || name == "fields");
                match (is_known, name) {
                    (false, _) | (_, "cursor") => refuses(method, request, name),
                    _ => drop(request.send().expect(200)),
                }
            }
        }
    });
}

#[test]
fn the_nearest_name_is_told() {
    on_each_store(|service| {
        let item = service.create(FILES, "{}");
        for (target, query, mentioned) in [
            (FILES, "pagesize=5", &["pagesize", "`page_size`"][..]),
            (FILES, "page-size=5", &["page-size", "`page_size`"]),
            (FILES, "Page=5", &["Page", "`page`"]),
            (FILES, "pages=5", &["pages", "`page`"]),
            (FILES, "filters[a]=5", &["filters", "`filter`"]),
            (FILES, "sort_by=5", &["sort_by", "`sort`"]),
            (FILES, "feilds=5", &["feilds", "`fields`"]),
            (FILES, "embeds=5", &["embeds", "`embed`"]),
            (FILES, "totals=5", &["totals", "`total`"]),
            (FILES, "curser=5", &["curser", "`cursor`"]),
            (FILES, "xyz=5", &["xyz", "`page`", "`filter`"]),
            (FILES, "=5", &["parameter"]),
            (&item.path, "field=a", &["field", "`fields`"]),
            (&item.path, "xyz=a", &["xyz", "`fields`", "`embed`"]),
        ] {
            service.get(&format!("{target}?{query}")).send().refusing_query(mentioned);
        }
    });
}

#[test]
fn a_parameter_stands_once() {
    on_each_store(|service| {
        for (first, second) in [
            ("page=1", "page=1"),
            ("page=1", "p%61ge=2"),
            ("page_size=1", "page_size=2"),
            ("sort=a", "sort=b"),
            ("fields=a", "fields=b"),
            ("q=a", "q=b"),
            ("total=none", "total=none"),
            ("cursor=a", "cursor=b"),
        ] {
            let name = first.split('=').next().unwrap();
            service
                .get(&format!("{FILES}?{first}&{second}"))
                .send()
                .refusing_query(&[&format!("`{name}`")]);
        }
        service.get(&format!("{FILES}?&page=1&&page_size=5&")).send().expect(200);
    });
}

#[test]
fn the_query_is_judged_in_its_turn() {
    on_each_store(|service| {
        let item = service.create(FILES, "{}");
        let unknown = format!("{FILES}/{}", crate::UNKNOWN_ID);
        for (order, request, status) in [
            ("no route before the query", service.get("/v1/nothing?colour=blue"), 404),
            (
                "method before the query",
                service.request("BREW", &format!("{FILES}?colour=blue")),
                405,
            ),
            (
                "Accept before the query",
                service.get(&format!("{FILES}?colour=blue")).accept("text/html"),
                406,
            ),
            (
                "Content-Type before the query",
                service.put(&format!("{}?colour=blue", item.path)).body("text/plain", "{}"),
                415,
            ),
            (
                "the query before an unknown item",
                service.get(&format!("{unknown}?colour=blue")),
                400,
            ),
            (
                "the query before an unknown item",
                service.delete(&format!("{unknown}?colour=blue")),
                400,
            ),
            (
                "the query before the condition",
                service.delete(&format!("{}?a=b", item.path)).header("if-match", "\"stale\""),
                400,
            ),
            (
                "the query before the rules",
                service.put(&format!("{}?a=b", item.path)).json(r#"{"id":"x"}"#),
                400,
            ),
        ] {
            println!("{order}");
            request.send().expect(status);
        }
        service.get(&item.path).send().expect(200);
    });
}

/// Queries that somebody might send to see what happens, with white space between; they may be
/// answered or refused.
const HOSTILE: &str = r#"
    %00 %ff = & &&&===& % %zz a%00b=c page=%ff q=%00 q=%ff%fe sort=%ff filter[%ff]=1 filter[%00]=1 filter[a]=%ff filter[a]=%00
    filter[a]=%ED%A0%80 filter[a][b][c]=1 filter[ filter] filter[[[[[[ filter[]]]]]]=1 filter[][]= filter[a]]=1 filter[a][eq][eq]=1
    filter[a][eq filter[[a]]=1 filter[a]b=1 filter[a[b]]=1 filter%5B filter[a];DROP%20TABLE%20items=1 filter[a'%20OR%20'1'='1]=1
    filter[a]=1'%20OR%20'1'='1 filter[a][gt]=1);DROP%20TABLE%20items;-- filter[a"]=" filter[$.a]=1 filter[$[0]]=1 filter[a]=$1
    filter[?1]=?1 filter[:a]=:a filter[@a]=@a filter[a][eq]=1e999999 filter[a]=-1e999999 filter[a]=1e-999999 filter[a][gt]=1e308
    filter[a][lt]=1e309 filter[a]=NaN filter[a]=Infinity filter[a]=-0 filter[a][gt]=-0.0 filter[a]=00 filter[a]=0x10
    filter[a]={"eq":1} filter[a]={ filter[a]=[ filter[a]=" filter[a]=1e400 filter[a][in]=,,,, filter[a][in]= filter[a][contains]=%25
    filter[a][contains]=%5C filter[a][contains]=[ filter[a][contains]=( filter[a][contains]=(a*)*b filter[a][contains]=%0A
    filter[a][contains]=%F0%9F%90%9F filter[a][contains]=%EF%BF%BF filter[a][contains]=%C4%B0 filter[a][contains]=%C3%9F
    filter[created_at]=9999-12-31T23:59:59.999999999Z filter[created_at]=-009999-01-01 filter[created_at]=0000-00-00
    filter[created_at][gt]=9999-12-31 filter[updated_at][in]=2026-01-01, sort=, sort=--a sort=- sort=a;DROP%20TABLE%20items
    sort=(SELECT%201) sort=a%20DESC,%20(SELECT%20pg_sleep(9)) sort=' sort=" sort=$ sort=[ sort=a,b,c,d,e,f,g,h
    sort=a,b,c,d,e,f,g,h,i fields=%22 fields=' fields=* fields=$ fields=, embed=* embed=..%2F..%2Fetc q=' q=%22 q=* q=()
    q=%27%3B%20DROP%20TABLE%20items q=a:b q=:* q=%5C q=%21a q=a%26b q=a%7Cb q=<-> q=NEAR(a,b) q=^a q={a} q=%C4%B0 q=%CC%81
    q=a%CC%81%CC%81%CC%81 total=' cursor=' cursor=%00 page=1e1 page=0x1 page=%D9%A1 page_size=%EF%BC%91 page=18446744073709551615
    page=9223372036854775808&page_size=250&filter[a]=1 page=99999999&sort=a
"#;

/// Queries at the limit of what a URL may be.
fn long_queries() -> Vec<String> {
    let parameters = |name: &dyn Fn(usize) -> String, count: usize| {
        (0..count).map(name).collect::<Vec<_>>().join("&")
    };
    vec![
        parameters(&|n| format!("p{n}"), 10_000),
        parameters(&|_| "page=1".to_owned(), 9_000),
        parameters(&|_| "filter[a]=1".to_owned(), 5_000),
        parameters(&|n| format!("filter[m{n}]=1"), 32),
        parameters(&|n| format!("filter[m{n}][contains]=x"), 32),
        parameters(&|n| format!("filter[m{n}][in]={}", "1,".repeat(99)), 32),
        format!("q={}", "word+".repeat(32)),
        format!("q={}", "x".repeat(60_000)),
        format!("filter[a]={}", "x".repeat(60_000)),
        format!("filter[a][contains]={}", "%C3%B1".repeat(900)),
        format!("filter[a][contains]={}", "(".repeat(900)),
        format!("filter[a]={}", "9".repeat(900)),
        format!("filter[a][gt]=1e{}", "9".repeat(900)),
        format!("filter[a]=0.{}", "9".repeat(900)),
        format!("filter[{}]=1", "n".repeat(60_000)),
        format!("filter{}=1", "[a]".repeat(10_000)),
        format!("filter{}a{}=1", "[".repeat(10_000), "]".repeat(10_000)),
        format!("sort={}", "a,".repeat(20_000)),
        format!("fields={}", "a,".repeat(20_000)),
        format!("sort={}", "n".repeat(60_000)),
        format!("cursor={}", "A".repeat(60_000)),
        "%25".repeat(20_000),
        "[".repeat(60_000),
        "&".repeat(60_000),
    ]
}

#[test]
fn hostile_queries_do_no_harm() {
    on_each_store(|service| {
        let values = [
            "1",
            "\"1\"",
            "1.5",
            "[1,\"x\"]",
            "{\"b\":1}",
            "true",
            "null",
            "\"x'; DROP TABLE items; --\"",
            "1e400",
            "-1e-400",
        ];
        for value in values {
            service.create(FILES, &format!(r#"{{"a":{value},"text":"x"}}"#));
        }
        service.create("/v1/proposals", PROPOSAL);
        let before = service.contents(FILES);
        let hostile = HOSTILE
            .split_whitespace()
            .map(|query| query.replace('"', "%22").replace('<', "%3C").replace('>', "%3E"));
        for query in hostile.chain(long_queries()) {
            for collection in [FILES, "/v1/proposals"] {
                let answer = service.get(&format!("{collection}?{query}")).send();
                assert!([200, 400, 409].contains(&answer.status), "{answer}");
                if answer.status == 400 {
                    assert_eq!(answer.value()["code"], "invalid-query", "{answer}");
                    assert!(
                        answer.body.len() < 5_000,
                        "{} bytes in answer to {}",
                        answer.body.len(),
                        query.len()
                    );
                }
            }
        }
        assert_eq!(service.contents(FILES), before);
        service.get("/readyz").send().expect(200);
    });
}

#[test]
fn a_url_that_is_too_long_is_refused() {
    on_each_store(|service| {
        for query in
            ["x".repeat(100_000), "a=1&".repeat(50_000), format!("q={}", "%61".repeat(100_000))]
        {
            let request = format!(
                "GET {FILES}?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            );
            let answer =
                String::from_utf8_lossy(&send_bytes(service.address(), request.as_bytes()))
                    .into_owned();
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
                "{}",
                &answer[..answer.len().min(300)]
            );
            service.get(FILES).send().expect(200);
        }
        for bytes in [
            &b"GET /v1/files?q=\xff HTTP/1.1"[..],
            b"GET /v1/files?q=\x00 HTTP/1.1",
            b"GET /v1/files?q=a b HTTP/1.1",
        ] {
            let request = [bytes, b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"].concat();
            let answer = send_bytes(service.address(), &request);
            assert!(
                !answer.starts_with(b"HTTP/1.1 5"),
                "{} → {}",
                bytes.escape_ascii(),
                answer.escape_ascii()
            );
            service.get(FILES).send().expect(200);
        }
    });
}

#[test]
fn what_a_refusal_repeats_is_harmless() {
    on_each_store(|service| {
        for (name, value) in [
            ("<script>alert(1)</script>", "1"),
            ("filter[<b>]", "1"),
            ("sort", "<b>"),
            ("fields", "\u{202e}x"),
            ("q", "\"<b>"),
            ("a\r\nX-Evil: 1", "2"),
        ] {
            let encoded = format!("{}={}", encoded(name), encoded(value));
            let answer =
                service.get(&format!("/v1/proposals?{encoded}")).send().refusing_query(&[]);
            assert_eq!(answer.header("x-evil"), None, "{answer}");
            assert_eq!(answer.header("content-type"), Some("application/hal+json"), "{answer}");
            assert!(matches!(answer.value()["detail"], Value::String(_)), "{answer}");
        }
    });
}
