use std::path::PathBuf;
use std::sync::Arc;

use application::ports::Clock;
use tokio::sync::Semaphore;

use crate::endpoints::resources::HttpContext;
use crate::request::body::BodyReader;

/// More would starve other requests. An export that waits for its client does not count.
const RUNNING_EXPORTS: usize = 1;

pub struct Transfers {
    pub context: Arc<HttpContext>,
    pub clock: Arc<dyn Clock>,
    /// The limit applies to the body and to the unpacked workbook.
    pub bodies: BodyReader,
    pub folder: PathBuf,
    pub work: Arc<Semaphore>,
    /// One permit, because a workbook unpacks to many times its size.
    pub workbooks: Arc<Semaphore>,
}

impl Transfers {
    pub fn new(
        context: &Arc<HttpContext>,
        clock: &Arc<dyn Clock>,
        bodies: BodyReader,
        folder: PathBuf,
    ) -> Arc<Self> {
        let (context, clock) = (Arc::clone(context), Arc::clone(clock));
        let [work, workbooks] = [RUNNING_EXPORTS, 1].map(|most| Arc::new(Semaphore::new(most)));
        Arc::new(Self { context, clock, bodies, folder, work, workbooks })
    }
}
