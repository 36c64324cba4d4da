//! A proposal that is deleted while many clients add to its library: the first request deletes it, with
//! its library.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tests::{End, on_each_store};

use crate::until;

const PROPOSALS: &str = "/v1/proposals";

const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;

const CLIENTS: usize = 8;

#[test]
fn a_proposal_is_deleted_at_the_first_request_while_many_clients_add_to_it() {
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
                let _end = End(is_over);
                let patience = Duration::from_mins(1);
                until("additions", patience, || added.load(Ordering::Relaxed) >= 20);
                let _ = service.delete(&proposal.path).send_unchecked().expect(204);
            });
            service.get(&library).send().expect(404);
        }
    });
}
