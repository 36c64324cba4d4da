//! Every obligation of the repository ports, on `SQLite` and on a real `PostgreSQL`: a model
//! checks random histories; named cases cover the rest.
//!
//! A case is a function over a [`TestStore`]; [`on_both_stores`] makes two tests of it, `sqlite::…`
//! and `postgres::…`. A case that depends on a feature of the server (a statement, a plan, a collation,
//! a lock, a catalog, a search of full text) is `server::…` instead of `postgres::…`: `tests/run` runs
//! these on a second version of the server.

#![expect(clippy::unwrap_used, reason = "a case fails where it cannot continue")]

macro_rules! on_both_stores {
    (
        $($case:ident)*
        $(; every_server: $($server:ident)+)?
        $(; postgres_alone: $($alone:ident)+)?
    ) => {
        mod sqlite {
            tests_on!(sqlite: $($case)* $($($server)+)?);
        }
        mod postgres {
            tests_on!(postgres: $($case)*);
        }
        mod server {
            tests_on!(postgres: $($($server)+)?);
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $alone() {
                super::$alone().await;
            })+)?
        }
    };
}

macro_rules! tests_on {
    ($store:ident: $($case:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $case() {
            $crate::store::run(tests::stores::TestDatabase::$store(), super::$case).await;
        })*
    };
}

mod callers;
mod concurrency;
mod contents;
mod counts;
mod deep_pages;
mod exports;
mod followers;
mod full;
mod index_building;
mod lookups;
mod member_counts;
mod model;
mod panics;
mod plans;
mod predicates;
mod read_set;
mod reads;
mod retention;
mod schema;
mod search;
mod selections;
mod sessions;
mod sql_files;
mod store;
mod waiting;
mod writes;
