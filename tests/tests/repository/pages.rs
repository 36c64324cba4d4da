//! `page`: the window, the totals and the revision.

use application::{RepositoryError, Scope};
use domain::Collection;

use crate::store::{FILES, LIB, PROPOSALS, TestStore, all, everything, lib_of, next_id, reach};

on_both_stores! {
    a_page_of_what_is_no_owner_is_refused
    a_window_beyond_the_end_is_empty_with_the_totals
}

async fn a_window_beyond_the_end_is_empty_with_the_totals(store: &TestStore) {
    let scope = all(Collection::known("gadscores"));
    store.insert(scope, "{}").await;
    for offset in [1, 1 << 40, u64::MAX] {
        let page = store.page(scope, offset, 25).await;
        assert_eq!((page.total_items, page.items.len()), (1, 0));
    }
}

async fn a_page_of_what_is_no_owner_is_refused(store: &TestStore) {
    let removed = store.insert(PROPOSALS, "{}").await;
    store.insert(lib_of(&removed), "{}").await;
    store.delete(PROPOSALS, &removed).await.unwrap();
    let file = store.insert(FILES, "{}").await;
    for scope in [
        Scope { parent: Some(next_id()), ..LIB },
        lib_of(&removed),
        Scope { parent: Some(file.item.id), ..FILES },
    ] {
        let page = store.items.page(&reach(scope), &everything(scope)).await;
        assert_eq!(page, Err(RepositoryError::ParentNotFound), "{scope:?}");
    }
}
