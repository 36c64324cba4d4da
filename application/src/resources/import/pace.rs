//! How many rows of an import are worked on before other requests run.

use std::ops::Range;

use futures_lite::future::yield_now;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

/// Rows in flight. They share commits, and another write waits for no more of them.
pub(super) const ROWS_AT_A_TIME: usize = 32;

/// Does the work of rows in their order, without a future for each row that waits for its turn.
pub(super) async fn few_at_a_time<T, E, F>(
    rows: Range<usize>,
    work: impl Fn(usize) -> F,
    mut take: impl FnMut(T),
) -> Result<(), E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut done = stream::iter(rows.map(work)).buffered(ROWS_AT_A_TIME);
    let mut count = 0;
    while let Some(row) = done.try_next().await? {
        take(row);
        count += 1;
        let_others_run(count).await;
    }
    Ok(())
}

/// Yields after every few rows: many need nothing of the store, and never wait.
pub(super) async fn let_others_run(rows_done: usize) {
    if rows_done.is_multiple_of(ROWS_AT_A_TIME) {
        yield_now().await;
    }
}
