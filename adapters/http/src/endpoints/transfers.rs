//! The parts that exports and imports share.

use std::path::PathBuf;
use std::sync::Arc;

use application::ports::Clock;
use tokio::sync::Semaphore;

use crate::endpoints::pacing::ExportPlaces;
use crate::endpoints::resources::HttpContext;
use crate::request::body::BodyReader;

/// Exports that may read and encode items at a time, so that they leave the processors to others.
/// One whose client does not read is not among them.
const EXPORTS_AT_WORK: usize = 1;

pub struct Transfers {
    pub context: Arc<HttpContext>,
    pub clock: Arc<dyn Clock>,
    /// Bodies of imports, which may be larger than others. Their limit also holds for what they
    /// unpack to.
    pub bodies: BodyReader,
    /// The folder for temporary files.
    pub folder: PathBuf,
    pub places: Arc<ExportPlaces>,
    /// One permit for each export that may be at work.
    pub work: Arc<Semaphore>,
    /// A workbook unpacks to many times the size of its body, so one is read at a time.
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
        let [work, workbooks] = [EXPORTS_AT_WORK, 1].map(|most| Arc::new(Semaphore::new(most)));
        Arc::new(Self { context, clock, bodies, folder, places: Arc::default(), work, workbooks })
    }
}
