//! Query parameters: every operation knows its parameters and refuses all others, and hostile
//! queries do no harm.

use tests::{Request, Service, send_bytes};

use crate::queries::{FILES, encoded, every_collection};
use crate::{PROPOSAL, UNKNOWN_ID};

tests::cases![
    each_operation_takes_its_own_parameters_only,
    a_refusal_names_the_parameter_and_the_nearest_one,
    the_query_is_judged_in_its_turn,
    hostile_queries_do_no_harm,
    a_url_that_is_too_long_or_not_ascii_is_refused,
    a_refusal_repeats_its_query_harmlessly,
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
        for is_item in [false, true] {
            add("GET", is_item, None);
            add("HEAD", is_item, None);
        }
        add("POST", false, Some(PROPOSAL));
        add("PUT", true, Some(PROPOSAL));
        add("PATCH", true, Some(PROPOSAL));
        add("DELETE", true, None);
        if ["/v1/proposals", "/v1/cashprogram"].contains(&collection.as_str()) {
            add("POST", true, Some(PROPOSAL));
        }
        if collection == "/v1/cashprogram" {
            add("PUT", false, Some("[]"));
        }
    }
    requests
}

fn each_operation_takes_its_own_parameters_only(service: &Service) {
    let of_collections = ["page=1", "page_size=5", "sort=id", "q=rice", "total=none", "cursor=x"];
    let of_none = ["colour=blue", "_=1700000000", "colour", "co%6Cour=", "colour[x]=1"];
    let of_some = of_collections.iter().chain(&["filter[proposal_type]=x", "fields=id"]);
    for query in of_some.chain(&of_none) {
        let name = query.split(['=', '[']).next().unwrap_or_default().replace("%6C", "l");
        let is_of_none = of_none.contains(query);
        let requests = every_operation(service, query);
        let contents = || {
            ["/v1/proposals", "/lib", "/v1/cashprogram", FILES, "/status"]
                .map(|collection| service.contents(collection))
        };
        let before = contents();
        for (method, is_item, request) in requests {
            let is_read = ["GET", "HEAD"].contains(&method);
            let is_taken = is_read && !is_of_none && (!is_item || name == "fields");
            if is_taken && name != "cursor" {
                request.expect(200);
            } else if method == "HEAD" {
                request.expect(400);
            } else {
                request.send().refusing_query(&[&name]);
            }
        }
        assert_eq!(contents(), before, "{query}");
    }
}

fn a_refusal_names_the_parameter_and_the_nearest_one(service: &Service) {
    let item = service.create(FILES, "{}");
    for (target, query, mentioned) in [
        (FILES, "_=1", &["`_`"][..]),
        (FILES, "pagesize=5", &["pagesize", "`page_size`"]),
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
        // A parameter occurs once.
        (FILES, "page=1&page=1", &["`page`"]),
        (FILES, "page=1&p%61ge=2", &["`page`"]),
        (FILES, "page_size=1&page_size=2", &["`page_size`"]),
        (FILES, "sort=a&sort=b", &["`sort`"]),
        (FILES, "fields=a&fields=b", &["`fields`"]),
        (FILES, "q=a&q=b", &["`q`"]),
        (FILES, "total=none&total=none", &["`total`"]),
        (FILES, "cursor=a&cursor=b", &["`cursor`"]),
    ] {
        service.get(&format!("{target}?{query}")).send().refusing_query(mentioned);
    }
    service.read(&format!("{FILES}?&page=1&&page_size=5&"));
}

fn the_query_is_judged_in_its_turn(service: &Service) {
    let item = service.create(FILES, "{}");
    let [files, unknown, own] = [FILES, &format!("{FILES}/{UNKNOWN_ID}"), &item.path]
        .map(|path| format!("{path}?colour=blue"));
    for (order, request, status) in [
        ("no route before the query", service.get("/v1/nothing?colour=blue"), 404),
        ("method before the query", service.request("BREW", &files), 405),
        ("Accept before the query", service.get(&files).accept("text/html"), 406),
        ("Content-Type before the query", service.put(&own).body("text/plain", "{}"), 415),
        ("the query before an unknown item", service.get(&unknown), 400),
        ("the query before an unknown item", service.delete(&unknown), 400),
        ("the query before the condition", service.delete(&own).header("if-match", "\"x\""), 400),
        ("the query before the rules", service.put(&own).json(r#"{"id":"x"}"#), 400),
    ] {
        println!("{order}");
        request.expect(status);
    }
    service.read(&item.path);
}

/// Queries that may be answered or refused, with white space between.
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

fn hostile_queries_do_no_harm(service: &Service) {
    let sql = r#""x'; DROP TABLE items; --""#;
    let values = "1 \"1\" 1.5 [1,\"x\"] {\"b\":1} true null 1e400 -1e-400".split(' ');
    for value in values.chain([sql]) {
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
                assert!(answer.body.len() < 5_000, "{} bytes: {answer}", answer.body.len());
            }
        }
    }
    assert_eq!(service.contents(FILES), before);
    service.read("/readyz");
}

fn a_url_that_is_too_long_or_not_ascii_is_refused(service: &Service) {
    let (long, many) = ("x".repeat(100_000), "a=1&".repeat(50_000));
    let encoded = format!("q={}", "%61".repeat(100_000));
    let lines = [&long, &many, &encoded].map(|query| format!("{FILES}?{query}").into_bytes());
    let odd = [&b"/v1/files?q=\xff"[..], b"/v1/files?q=\x00", b"/v1/files?q=a b"];
    for target in lines.iter().map(Vec::as_slice).chain(odd) {
        let end = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let answer = send_bytes(service.address(), &[b"GET ", target, end].concat());
        let is_refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4");
        let beginning = answer[..answer.len().min(300)].escape_ascii();
        assert!(is_refused, "{} → {beginning}", target[..target.len().min(50)].escape_ascii());
        service.read(FILES);
    }
}

fn a_refusal_repeats_its_query_harmlessly(service: &Service) {
    for (name, value) in [
        ("<script>alert(1)</script>", "1"),
        ("filter[<b>]", "1"),
        ("sort", "<b>"),
        ("fields", "\u{202e}x"),
        ("q", "\"<b>"),
        ("a\r\nX-Evil: 1", "2"),
    ] {
        let target = format!("/v1/proposals?{}={}", encoded(name), encoded(value));
        let answer = service.get(&target).send().refusing_query(&[]);
        assert_eq!(answer.header("x-evil"), None, "{answer}");
        answer.of_type("application/hal+json");
    }
}
