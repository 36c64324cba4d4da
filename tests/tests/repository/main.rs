//! Every obligation of the repository ports, a named case each, on `SQLite` and on a real
//! `PostgreSQL`.
//!
//! A case is a function over a [`TestStore`]; [`on_both_stores`] makes two tests of it, `sqlite::…`
//! and `postgres::…`.

#![expect(clippy::unwrap_used, reason = "a case fails where it cannot go on")]

macro_rules! on_both_stores {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                $crate::store::run(tests::stores::TestDatabase::sqlite(), super::$case).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                $crate::store::run(tests::stores::TestDatabase::postgres(), super::$case).await;
            })*
        }
    };
}

mod callers;
mod change_log;
mod concurrency;
mod counts;
mod deep_pages;
mod deletions;
mod exports;
mod followers;
mod full;
mod index_building;
mod lookups;
mod many;
mod member_counts;
mod model;
mod orders;
mod pages;
mod plans;
mod read_set;
mod reads;
mod replacement;
mod retention;
mod schema;
mod search;
mod selections;
mod store;
mod waiting;
mod walks;
mod writes;
