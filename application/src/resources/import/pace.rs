use std::ops::Range;

use futures_lite::future::yield_now;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

/// The limit of rows in flight. They share a group commit, and bound the wait of other writes.
pub(super) const ROWS_AT_A_TIME: usize = 32;

/// Runs the work of rows in order, without a future for each waiting row.
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

/// Yields regularly, because many rows need no store access and never wait.
pub(super) async fn let_others_run(rows_done: usize) {
    if rows_done.is_multiple_of(ROWS_AT_A_TIME) {
        yield_now().await;
    }
}
