//! The sessions of the pages, attacked: a cookie is only as good as the page and the token that it came with.

use tests::event_stream::EventStream;
use tests::stores::TestDatabase;
use tests::tool::done;
use tests::{Answer, Request, Service, Store};

use crate::world::{Callers, PATIENCE, on_each_store, soon};

const NAMES: [&str; 2] = ["ana", "ben"];
const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");

/// The cookie of a browser, and the token of its page.
#[derive(Clone, Debug)]
struct Session {
    cookie: String,
    page_token: String,
}

impl Session {
    fn of(answer: &Answer) -> Self {
        let cookie = answer.needed_header("set-cookie").split(';').next().unwrap().to_owned();
        let page_token = answer.value()["page_token"].as_str().unwrap().to_owned();
        Self { cookie, page_token }
    }

    fn id(&self) -> &str {
        self.cookie.split_once('=').unwrap().1
    }

    /// A request as a page of the session sends it.
    fn send(&self, request: Request) -> Request {
        request
            .header("cookie", &self.cookie)
            .header(SAME.0, SAME.1)
            .header("page-token", &self.page_token)
    }

    fn can_read(&self, service: &Service) -> u16 {
        self.send(service.get("/v1/files")).send().status
    }
}

fn sign_in(callers: &Callers, name: &str, service: &Service) -> Session {
    Session::of(&beginning(callers, name, service).send().expect(200))
}

fn beginning(callers: &Callers, name: &str, service: &Service) -> Request {
    callers.sign(name, service.post("/session")).header(SAME.0, SAME.1)
}

fn named(names: &[&str]) -> Callers {
    Callers::new(&names.iter().map(|name| (*name, "")).collect::<Vec<_>>())
}

#[test]
fn a_browser_is_known_by_a_session_as_long_as_it_lasts() {
    on_each_store(|store| {
        let callers = named(&NAMES);
        let service = callers.serve(store, &["--log", "trace"]);
        let answer = beginning(&callers, "ana", &service).send().expect(200);
        let session = Session::of(&answer);
        let local = format!("{}; Path=/; HttpOnly; SameSite=Strict", session.cookie);
        assert_eq!(answer.header("set-cookie"), Some(&*local));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.value()["caller"]["id"], "key:ana");
        assert!(session.cookie.starts_with("session=") && session.id().len() == 43);

        let page = service.get("/explore").header("cookie", &session.cookie).send_unchecked();
        assert_eq!(page.expect(200).header("cache-control"), Some("private, no-store"));
        let page = service.get("/guide").header("cookie", &session.cookie).send_unchecked();
        assert!(page.text().contains("Signed in as key:ana"), "{page}");
        assert!(page.text().contains(&format!("data-page-token=\"{}\"", session.page_token)));
        let mut varies = page.headers.get_all("vary").iter();
        assert!(varies.any(|line| line.to_str().unwrap().contains("Cookie")), "{page}");
        assert!(!page.text().contains(session.id()), "no page has the id");

        let made = session.send(service.post("/v1/files").json("{}")).send().expect(201);
        let path = format!("/v1/files/{}/versions", made.id());
        let versions = callers.sign("ben", service.get(&path)).send().expect(200);
        assert!(versions.text().contains("\"caller\":\"key:ana\""), "{versions}");
        assert_eq!(
            session.send(service.get("/session")).send().value()["page_token"],
            *session.page_token
        );
        // The header counts, not the cookie.
        let own = session.send(callers.sign("ben", service.get("/v1/access"))).send();
        assert_eq!(own.value()["caller"]["id"], "key:ben");
        session
            .send(service.get("/v1/files"))
            .header("authorization", "Bearer psk_x_y")
            .expect(401);

        let ended = session.send(service.delete("/session")).send().expect(204);
        assert!(ended.needed_header("set-cookie").starts_with("session=; Max-Age=0; Path=/"));
        is_over(&session, &service);
        for secret in [session.id(), &session.page_token, callers.key("ana")] {
            assert!(!service.log().contains(secret), "{secret} is in the log");
        }
    });
}

/// A stolen cookie is worth nothing after the end, and pages say what happened.
fn is_over(session: &Session, service: &Service) {
    let refused = session.send(service.post("/v1/files").json("{}")).send().expect(401);
    assert_eq!(refused.value()["code"], "invalid-token", "{refused}");
    assert_eq!(session.can_read(service), 401);
    let page = service.get("/explore/files").header("cookie", &session.cookie).send_unchecked();
    let page = page.expect(401);
    assert!(page.text().contains("Your session has ended. Sign in again."), "{page}");
    assert!(!page.text().contains("data-page-token"), "{page}");
    assert!(page.needed_header("set-cookie").starts_with("session=; Max-Age=0"), "{page}");
}

#[test]
fn an_id_is_never_one_that_somebody_else_chose() {
    let callers = named(&NAMES);
    let service = callers.serve(Store::Sqlite, &[]);
    let chosen = format!("session={}", "A".repeat(43));
    let begin = beginning(&callers, "ana", &service).header("cookie", &chosen);
    let first = Session::of(&begin.send().expect(200));
    assert_ne!(first.cookie, chosen);
    service.get("/v1/files").header("cookie", &chosen).header(SAME.0, SAME.1).expect(401);
    // The next sign-in ends the earlier session, whose id may have been planted.
    let again = beginning(&callers, "ben", &service).header("cookie", &first.cookie);
    let second = Session::of(&again.send().expect(200));
    assert_ne!(second.cookie, first.cookie);
    assert_eq!((first.can_read(&service), second.can_read(&service)), (401, 200));
    // Only a token begins a session, and a session begins no other.
    second.send(service.post("/session")).expect(401);
    service.post("/session").header(SAME.0, SAME.1).expect(401);
    callers.sign("ana", service.post("/session?a=b")).header(SAME.0, SAME.1).expect(400);
    let wrong = service.post("/session").header(SAME.0, SAME.1);
    wrong.header("authorization", "Bearer psk_ana_wrong").expect(401);
}

#[test]
fn a_cookie_counts_only_where_a_page_of_the_session_sends_it() {
    on_each_store(|store| {
        let callers = named(&NAMES);
        let service = callers.serve(store, &["--cors-origin", "https://app.example.org"]);
        let (session, other) =
            (sign_in(&callers, "ana", &service), sign_in(&callers, "ben", &service));
        let own = format!("http://{}", service.address());
        let own_origin = ("origin", own.as_str());
        let token = ("page-token", session.page_token.as_str());
        let foreign = ("page-token", other.page_token.as_str());
        for (headers, read, write) in [
            (&[][..], 401, 403),
            (&[SAME], 200, 403),
            (&[SAME, token], 200, 201),
            (&[SAME, foreign], 200, 403),
            (&[SAME, ("page-token", session.id())], 200, 403),
            (&[SAME, ("page-token", "")], 200, 403),
            (&[SAME, ("origin", "null"), token], 401, 403),
            (&[SAME, own_origin, token], 200, 201),
            (&[own_origin, token], 200, 201),
            (&[("origin", "null"), token], 401, 403),
            (&[("origin", "https://app.example.org"), token], 401, 403),
            (&[("sec-fetch-site", "none"), token], 401, 403),
            (&[("sec-fetch-site", "same-site"), own_origin, token], 401, 403),
            (&[("sec-fetch-site", "cross-site"), own_origin, token], 401, 403),
        ] {
            let with = |request: Request| {
                let request = request.header("cookie", &session.cookie);
                headers.iter().fold(request, |request, (name, value)| request.header(name, value))
            };
            assert_eq!(with(service.get("/v1/files")).send().status, read, "{headers:?}");
            let body = service.post("/v1/files").json("{}");
            let written = with(body).send();
            assert_eq!(written.status, write, "{headers:?}: {written}");
            if write == 403 {
                assert_eq!(written.value()["code"], "cross-site");
                with(service.delete("/session?everywhere=true")).expect(403);
                // A page may be opened from anywhere.
                let page = with(service.get("/explore")).send_unchecked().expect(200);
                assert!(page.text().contains("Signed in as key:ana"), "{page}");
            }
        }
        // A form sends its own types.
        let form =
            service.post("/v1/files").body("text/plain", "{}").header("cookie", &session.cookie);
        form.header("sec-fetch-site", "cross-site")
            .header("origin", "https://evil.example")
            .expect(403);
        // A write by a page of an ended or replaced session is never anonymous.
        service.post("/v1/files").json("{}").header(token.0, token.1).expect(401);
        // No other origin may send the token of a page, or cookies.
        let preflight =
            service.request("OPTIONS", "/v1/files").header("origin", "https://app.example.org");
        let allowed = preflight.header("access-control-request-method", "POST").send().expect(204);
        assert!(!allowed.needed_header("access-control-allow-headers").contains("Page-Token"));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        // Nor begin a session.
        for (name, value) in
            [("sec-fetch-site", "cross-site"), ("origin", "https://app.example.org"), ("a", "b")]
        {
            callers.sign("ana", service.post("/session")).header(name, value).expect(403);
        }
    });
}

#[test]
fn cookies_that_are_repeated_or_malformed_do_not_count() {
    let callers = named(&NAMES);
    let service = callers.serve(Store::Sqlite, &[]);
    let session = sign_in(&callers, "ana", &service);
    let tossed = format!("session={}", "A".repeat(43));
    let huge = format!("session={}", "A".repeat(20_000));
    let many = format!("{}{}", "a=b; ".repeat(4_000), session.cookie);
    let own = session.cookie.as_str();
    for (lines, read, write) in [
        (vec![own, &tossed], 401, 403),
        (vec![&tossed, own], 401, 403),
        (vec![own, own], 401, 403),
        (vec![huge.as_str()], 401, 403),
        (vec!["session="], 401, 403),
        (vec!["session=\u{e9}; =;;"], 401, 403),
        (vec!["session=; session=; session="], 401, 403),
        // Of these none is a session.
        (vec!["Session=a", "__Host-session=b", "sessions=c"], 401, 401),
        (vec![many.as_str()], 200, 201),
    ] {
        let send = |request: Request| {
            let request = request.header(SAME.0, SAME.1).header("page-token", &session.page_token);
            lines.iter().fold(request, |request, line| request.header("cookie", line))
        };
        assert_eq!(send(service.get("/v1/files")).send().status, read, "{lines:?}");
        let write_answer = send(service.post("/v1/files").json("{}")).send();
        assert_eq!(write_answer.status, write, "{lines:?}");
        send(service.get("/explore")).send_unchecked().expect(200);
    }
}

#[test]
fn sessions_end_everywhere_and_on_every_instance() {
    let callers = named(&NAMES);
    let first = callers.serve(Store::Postgres, &[]);
    let own = callers.arguments();
    let second = first.start_another_with(&own.each_ref().map(String::as_str));
    let sessions: Vec<_> = (0..3).map(|_| sign_in(&callers, "ana", &first)).collect();
    let other = sign_in(&callers, "ben", &second);
    for session in &sessions {
        assert_eq!([&first, &second].map(|it| session.can_read(it)), [200; 2]);
        session.send(second.post("/v1/files").json("{}")).send().expect(201);
    }
    let stream = |session: &Session| {
        let headers = format!("Cookie: {}\r\n{}: {}\r\n", session.cookie, SAME.0, SAME.1);
        EventStream::open(second.address(), "", &headers)
    };
    let [one, two] = [&sessions[0], &sessions[1]].map(stream);
    let mut others = stream(&other);
    // The end counts at once.
    sessions[0].send(first.delete("/session")).send().expect(204);
    assert_eq!(sessions.iter().map(|it| it.can_read(&second)).collect::<Vec<_>>(), [401, 200, 200]);
    one.end_within(PATIENCE);
    sessions[2].send(second.delete("/session?everywhere=true")).send().expect(204);
    for session in &sessions {
        assert_eq!([&first, &second].map(|it| session.can_read(it)), [401; 2]);
    }
    two.end_within(PATIENCE);
    is_over(&sessions[1], &first);
    // A caller whose key was stolen ends the sessions of the thief with it.
    let stolen = sign_in(&callers, "ana", &first);
    callers.sign("ana", first.delete("/session?everywhere=true")).send().expect(204);
    assert_eq!(stolen.can_read(&second), 401);
    assert_eq!(other.can_read(&first), 200);
    callers.sign("ana", first.post("/v1/files").json("{}")).send().expect(201);
    assert_eq!(others.event().data["data"]["caller"], "key:ana", "another stream continues");
}

#[test]
fn a_session_ends_with_its_key() {
    on_each_store(|store| {
        let database = TestDatabase::of(store);
        let callers = named(&["ana", "ben", "carla"]);
        let own = callers.arguments();
        let service = Service::start_on_with(&database, &own.each_ref().map(String::as_str));
        let [ana, ben, carla] =
            ["ana", "ben", "carla"].map(|name| sign_in(&callers, name, &service));
        let rows = || database.query("SELECT caller FROM sessions ORDER BY caller").len();
        assert_eq!(rows(), 3);
        let revoked = "revoked: [{subject: 'key:ben', before: 2026-01-01T00:00:00Z}]\n";
        callers.write(|name| name != "ana", revoked);
        for session in [&ana, &ben] {
            soon("a refusal", || session.can_read(&service) == 401);
            is_over(session, &service);
        }
        assert_eq!(carla.can_read(&service), 200);
        assert_eq!(rows(), 1, "their rows are deleted");
    });
}

/// A copy of the database has no token and no id, and no caller fills it.
#[test]
fn a_database_reveals_no_session_and_keeps_few() {
    on_each_store(|store| {
        let database = TestDatabase::of(store);
        let callers = named(&NAMES);
        let own = callers.arguments();
        let arguments = [&*own[0], &own[1], "--idempotency-ttl", "4s"];
        let service = Service::start_on_with(&database, &arguments);
        let first = sign_in(&callers, "ana", &service);
        let other = sign_in(&callers, "ben", &service);
        let columns = "SELECT digest, caller, token FROM sessions ORDER BY caller";
        let stored = format!("{:?}", database.query(columns));
        let key = callers.key("ana");
        for secret in [first.id(), &first.page_token, key, key.rsplit('_').next().unwrap()] {
            assert!(!stored.contains(secret), "{stored}");
        }
        // The digest is no id.
        let digest = database.query("SELECT digest FROM sessions WHERE caller = 'key:ana'");
        let copied = Session {
            cookie: format!("session={}", digest[0][0].as_deref().unwrap()),
            ..first.clone()
        };
        assert_eq!(copied.can_read(&service), 401);
        // A row that is given to another caller is worth nothing to them.
        database.query("UPDATE sessions SET caller = 'key:ana' WHERE caller = 'key:ben'");
        assert_eq!(other.can_read(&service), 401);

        for _ in 0..60 {
            sign_in(&callers, "ana", &service);
        }
        let last = sign_in(&callers, "ana", &service);
        assert_eq!(database.query("SELECT digest FROM sessions").len(), 50);
        assert_eq!((first.can_read(&service), last.can_read(&service)), (401, 200));
        for _ in 0..3 {
            let wrong = service.post("/session").header(SAME.0, SAME.1);
            wrong.header("authorization", "Bearer psk_ana_wrong").expect(401);
        }
        assert_eq!(database.query("SELECT digest FROM sessions").len(), 50);
        // All of them end by one statement.
        database.query("DELETE FROM sessions");
        assert_eq!(last.can_read(&service), 401);
        // One that has ended is removed.
        sign_in(&callers, "ben", &service);
        database.query("UPDATE sessions SET ends_at = 1");
        let late = sign_in(&callers, "ana", &service);
        assert_eq!(late.can_read(&service), 200);
        soon("the removal", || database.query("SELECT digest FROM sessions").len() == 1);
    });
}

/// A session that is left later does not return with a copy.
#[test]
fn backups_and_exports_have_no_sessions() {
    let callers = named(&NAMES);
    let (database, copy) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    let own = callers.arguments();
    let service = Service::start_on_with(&database, &own.each_ref().map(String::as_str));
    let session = sign_in(&callers, "ana", &service);
    session.send(service.post("/v1/files").json("{}")).send().expect(201);
    let stored = database.query("SELECT digest, token FROM sessions").concat();
    assert_eq!(stored.len(), 2);
    let file = copy.file().to_str().unwrap();
    done(&["backup", file, "--database-url", database.url()]);
    assert_eq!(copy.query("SELECT digest FROM sessions").len(), 0);
    assert_eq!(copy.query("SELECT kind FROM changes").len(), 1);
    let export = String::from_utf8(done(&["export", "--database-url", database.url()])).unwrap();
    assert!(export.contains("key:ana"), "{export}");
    assert!(stored.iter().flatten().all(|part| !export.contains(part)), "{export}");
    assert_eq!(session.can_read(&service), 200);
}

#[test]
fn pages_sign_in_over_https_or_within_a_machine() {
    let callers = named(&NAMES);
    for (base_url, status, name) in [
        ("https://grants.example.org/api", 200, "__Host-session="),
        ("http://grants.example.org", 403, ""),
        ("http://192.0.2.1:8080", 403, ""),
    ] {
        let service = callers.serve(Store::Sqlite, &["--base-url", base_url]);
        let answer = beginning(&callers, "ana", &service).send().expect(status);
        let page = service.get("/explore").accept("text/html").send_unchecked().expect(200);
        if status == 403 {
            assert_eq!(answer.value()["code"], "https-required", "{answer}");
            assert_eq!(answer.header("set-cookie"), None);
            assert!(page.text().contains("Signing in needs HTTPS."), "{page}");
            continue;
        }
        let cookie = answer.needed_header("set-cookie");
        assert!(cookie.starts_with(name), "{cookie}");
        assert!(cookie.ends_with("; Path=/; Secure; HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(page.text().contains("data-session=\"/api/session\""), "{page}");
        let session = Session::of(&answer);
        assert_eq!(session.can_read(&service), 200);
        let old = service.get("/v1/files").header("origin", "https://grants.example.org");
        old.header("cookie", &session.cookie).expect(200);
        let local = format!("session={}", session.id());
        service.get("/v1/files").header("cookie", local).header(SAME.0, SAME.1).expect(401);
    }
}

#[test]
fn a_page_that_was_reached_from_another_site_is_loaded_again() {
    const REFRESH: &str = "<meta http-equiv=\"refresh\" content=\"0\">";
    let callers = named(&NAMES);
    let service = callers.serve(Store::Sqlite, &[]);
    let session = sign_in(&callers, "ana", &service);
    let cookie = ("cookie", session.cookie.as_str());
    let key = format!("Bearer {}", callers.key("ana"));
    let cross = ("sec-fetch-site", "cross-site");
    for (headers, comes_again) in [
        (&[cross][..], true),
        (&[cross, cookie], false),
        (&[cross, ("authorization", &key)], false),
        (&[SAME], false),
        (&[("sec-fetch-site", "none")], false),
        (&[], false),
    ] {
        for path in ["/explore", "/explore/files", "/guide", "/docs", "/problems"] {
            let request = service.get(path).accept("text/html");
            let request = headers.iter().fold(request, |it, (name, value)| it.header(name, value));
            let page = request.send_unchecked();
            assert_eq!(page.text().contains(REFRESH), comes_again, "{path} {headers:?}: {page}");
        }
    }
    let open = Service::start(Store::Sqlite);
    let page = open.get("/explore").header(cross.0, cross.1).send().expect(200);
    assert!(!page.text().contains(REFRESH), "{page}");
}

/// An unknown session is not one that has ended.
#[test]
fn while_the_database_is_lost_a_session_is_not_ended() {
    let callers = named(&NAMES);
    let database = TestDatabase::of(Store::Postgres);
    let own = callers.arguments();
    let service = Service::start_on_with(&database, &own.each_ref().map(String::as_str));
    let session = sign_in(&callers, "ana", &service);
    database.query("ALTER TABLE sessions RENAME TO lost");
    session.send(service.get("/v1/files")).send_in_vain();
    session.send(service.post("/v1/files").json("{}")).send_in_vain();
    session.send(service.delete("/session")).send_in_vain();
    let page = service.get("/explore").header("cookie", &session.cookie).send_unchecked();
    let page = page.expect(503);
    assert_eq!(page.header("set-cookie"), None, "{page}");
    database.query("ALTER TABLE lost RENAME TO sessions");
    assert_eq!(session.can_read(&service), 200);
}
