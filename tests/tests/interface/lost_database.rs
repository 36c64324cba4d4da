//! A database that goes away and comes back: 503 meanwhile, nothing wrong, and no restart.

use std::time::{Duration, Instant};

use tests::Gate;

use crate::PROPOSAL;

/// How long the service may take to notice that the database is back.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_lost_database_is_503_and_its_return_is_noticed() {
    let (gate, service) = Gate::before_service();
    let kept = service.create("/v1/proposals", PROPOSAL);

    gate.shut();
    let refused = [
        service.get(&kept.path),
        service.get("/v1/proposals"),
        service.post("/v1/proposals").json(PROPOSAL),
        service.put(&kept.path).json(PROPOSAL),
        service.delete(&kept.path),
        service.get("/readyz"),
    ];
    for request in refused {
        request.send_in_vain();
    }
    service.read("/healthz");

    gate.open();
    let deadline = Instant::now() + PATIENCE;
    while service.get("/readyz").send_unchecked().status != 200 {
        assert!(Instant::now() < deadline, "the database is back, and the service is not ready");
    }
    assert_eq!(service.read(&kept.path).etag(), kept.etag, "what was refused was not written");
    service.create("/v1/proposals", PROPOSAL);
    assert_eq!(service.read("/v1/proposals").value()["total_items"], 2);
}
