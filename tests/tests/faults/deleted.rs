//! A proposal that is deleted while many add to its library: it is gone at the first request, with
//! everything that belonged to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use tests::on_each_store;

const PROPOSALS: &str = "/v1/proposals";

const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;

const CLIENTS: usize = 8;

#[test]
fn a_proposal_is_deleted_at_the_first_request_beside_many_that_add_to_it() {
    on_each_store(|service| {
        let address = service.address();
        for _ in 0..5 {
            let proposal = service.create(PROPOSALS, PROPOSAL);
            let library = format!("{}/lib", proposal.path);
            let (is_over, added) = (&AtomicBool::new(false), &AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..CLIENTS {
                    let library = library.as_str();
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) {
                            let request = tests::Request::new(address, "POST", library);
                            let answer = request.json("{}").send_unchecked();
                            assert!(matches!(answer.status, 201 | 404), "{answer}");
                            added.fetch_add(u64::from(answer.status == 201), Ordering::Relaxed);
                        }
                    });
                }
                while added.load(Ordering::Relaxed) < 20 {
                    sleep(Duration::from_millis(5));
                }
                let deleted = service.delete(&proposal.path).send_unchecked();
                is_over.store(true, Ordering::Relaxed);
                let _ = deleted.expect(204);
            });
            service.get(&library).send().expect(404);
        }
    });
}
