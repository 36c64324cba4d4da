//! Empty lists of policies and keys: they are meant if they are written, and refuse everything.

use std::time::{Duration, Instant};

use tests::Service;

use crate::world::{Callers, on_each_store};

fn wait_for(service: &Service, words: &str) {
    let began = Instant::now();
    while !service.log().contains(words) {
        assert!(began.elapsed() < Duration::from_secs(50), "no `{words}` in:\n{}", service.log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The lines of the log that are warnings.
fn warnings(service: &Service) -> Vec<String> {
    service.log().lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect()
}

#[test]
fn empty_lists_refuse_everybody_and_the_log_warns() {
    on_each_store(|store| {
        let callers = Callers::new(&[("ana", "")]);
        let policies = callers.path().with_file_name("policies.yaml");
        let permitted = "policies: [{id: all, group: files, allow: [read], to: [signed_in]}]\n";
        std::fs::write(&policies, permitted).unwrap();
        let service = callers.serve(store, &["--policies", policies.to_str().unwrap()]);
        let status = || callers.sign("ana", service.get("/v1/files")).send().status;
        assert_eq!((status(), warnings(&service).len()), (200, 0));
        // A truncated file changes nothing.
        std::fs::write(&policies, "cases: []\n").unwrap();
        wait_for(&service, "write `policies: []`");
        assert_eq!(status(), 200);
        std::fs::write(&policies, "policies: []\n").unwrap();
        wait_for(&service, "`policies: []` is in force: every request for items is refused");
        assert_eq!(status(), 403);
        std::fs::write(&policies, permitted).unwrap();
        wait_for(&service, "policies=1");
        assert_eq!(status(), 200);
        callers.write(|_, _| None, "");
        wait_for(&service, "`keys: []` is in force: every key of the service is refused");
        assert_eq!((status(), warnings(&service).len()), (401, 2));
        std::fs::write(callers.path(), "issuers: []\n").unwrap();
        wait_for(&service, "no issuers and no keys are in force: every token is refused");
    });
}
