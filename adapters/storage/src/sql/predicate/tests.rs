use std::sync::Arc;

use application::query::{PageQuery, PageStart, Selection};
use application::{Reach, Scope};
use domain::predicate::{Operand, Related, RelatedKey, RelatedValue, Subject};
use domain::{Collection, ItemId, Predicate};
use rusqlite::{Connection, StatementStatus};
use sea_orm::Statement;

use crate::migration::schema;
use crate::sql::dialect::SQLITE;
use crate::sql::{indexed_columns, page, statements};
use crate::sqlite::connection::parameter;

fn equals(operand: Operand, text: &str) -> Predicate {
    Predicate::equals(operand, super::Literal::String(text.into()))
}

fn own() -> Predicate {
    equals(Operand::current(Subject::CreatedBy), "ana")
}

fn about(name: &'static str, key: RelatedKey, value: Operand, holds: Predicate) -> Predicate {
    let (collection, value) = (Collection::known(name), RelatedValue::Operand(value));
    Predicate::related(Related { collection, key, value, latest: None, holds })
}

fn page_of(reach: &Reach, is_counted: bool, limit: u64) -> Statement {
    let query = PageQuery {
        selection: Selection { filters: Vec::new(), search: None },
        order: Vec::new(),
        position: PageStart::Offset(0),
        limit,
        fields: None,
        is_counted,
        count_by: None,
        related: Vec::new(),
    };
    page::PageStatement::new(&SQLITE, reach, &query, None, None).statement
}

/// One's own items, and those about which one's own items are.
#[test]
fn few_candidates_are_found_by_indexes() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema(&SQLITE)).unwrap();
    let subject = || RelatedKey::Member("subject".into());
    let assigned = || about("status", subject(), Operand::current(Subject::Id), own());
    let parent = || Operand::current(Subject::Parent);
    for (name, predicate) in [
        ("proposals", own()),
        ("proposals", own().or(assigned())),
        ("files", about("proposals", RelatedKey::Id, Operand::member("proposal_id"), own())),
        ("lib", about("proposals", RelatedKey::Id, parent(), own().or(assigned()))),
    ] {
        let scope = Scope::of(Collection::known(name));
        let reach = Reach::of_the_service(scope).only(Arc::new(predicate));
        let totals = page::reached_totals_statement(&SQLITE, &reach, &[]);
        for statement in [totals, page_of(&reach, true, 25)] {
            let plan = plan(&connection, &statement.sql);
            let walks = [
                "SCAN w",
                "SCAN i",
                "SCAN r",
                "SEARCH w USING INDEX items_by_collection (collection=?)",
            ];
            let is_walked = walks.iter().any(|walk| plan.contains(walk));
            assert!(plan.contains("items_by_creator (") && !is_walked, "{plan}");
        }
    }
}

/// Proposals with a score sheet and two statuses each. Every 26th proposal and sheet is ana's. The
/// last status of four in five is `approved`.
const PROPOSALS: &str = r#"
CREATE TEMP TABLE numbers AS WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 9999) SELECT n FROM n;
INSERT INTO changes (sequence, collection, item_id, version, kind, time, members)
    SELECT n, 'proposals', unhex(printf('%032x', n)), 1, 'created', n, '{}' FROM numbers UNION ALL
    SELECT n + 10000, 'gadscores', unhex(printf('%032x', n + 10000)), 1, 'created', n,
        CASE WHEN (n + 10000) % 26 = 0 THEN '{"evaluator_id":"ana"}' ELSE '{"evaluator_id":"ben"}' END FROM numbers UNION ALL
    SELECT n + 20000, 'status', unhex(printf('%032x', n + 20000)), 1, 'created', n, '{"to_code":"submitted"}' FROM numbers UNION ALL
    SELECT n + 30000, 'status', unhex(printf('%032x', n + 30000)), 1, 'created', n,
        CASE WHEN n % 5 = 0 THEN '{"to_code":"rejected"}' ELSE '{"to_code":"approved"}' END FROM numbers;
INSERT INTO items (id, collection, version, sequence, created_at, updated_at, created_by, key_3, key_5)
    SELECT item_id, collection, 1, sequence, time, time, CASE WHEN sequence % 26 = 0 THEN 'ana' ELSE 'ben' END,
        CASE collection WHEN 'gadscores' THEN CASE WHEN sequence % 26 = 0 THEN 'ana' ELSE 'ben' END END,
        CASE WHEN collection <> 'proposals' THEN printf('00000000-0000-0000-0000-%012x', sequence % 10000) END FROM changes;
"#;

/// In rows of a page of everything, by the steps of SQLite's virtual machine.
#[test]
fn a_page_and_a_total_examine_few_rows() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema(&SQLITE)).unwrap();
    connection.execute_batch(PROPOSALS).unwrap();
    let steps = |Statement { sql, values, .. }: Statement| {
        let mut statement = connection.prepare(&sql).unwrap();
        for place in 1..=statement.parameter_count() {
            let name = statement.parameter_name(place).unwrap();
            let value = parameter(values.as_ref().map_or(&[], |it| &it.0), name).unwrap();
            statement.raw_bind_parameter(place, value).unwrap();
        }
        let (mut rows, mut count) = (statement.raw_query(), 0);
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        drop(rows);
        (count, statement.get_status(StatementStatus::VmStep))
    };
    let scope = Scope::of(Collection::known("proposals"));
    let everything = Reach::of_the_service(scope);
    let of_row = steps(page_of(&everything, false, 10_000)).1 / 10_000;
    let own_id = || Operand::current(Subject::Id);
    let evaluator = equals(Operand::member("evaluator_id"), "ana");
    let assigned =
        about("gadscores", RelatedKey::Member("proposal_id".into()), own_id(), evaluator);
    let approved = Predicate::related(Related {
        collection: Collection::known("status"),
        key: RelatedKey::Member("subject".into()),
        value: RelatedValue::Operand(own_id()),
        latest: Some(Predicate::Test(Operand::member("to_code"), super::Test::Exists)),
        holds: equals(Operand::member("to_code"), "approved"),
    });
    for (name, predicate, ids, visible) in [
        ("own", own(), 385, 385),
        ("assigned", assigned, 385, 385),
        ("approved", approved, 0, 8_000),
    ] {
        let reach = everything.clone().only(Arc::new(predicate));
        let (rows, page) = steps(page_of(&reach, false, 25));
        let (_, total) = steps(page::reached_totals_statement(&SQLITE, &reach, &[]));
        println!("{name}: {} rows for a page, {} for a total", page / of_row, total / of_row);
        assert_eq!(rows, 26, "{name}: one shows that more follow");
        assert!(page <= of_row * (3 * 25 + ids), "{name}: {page} of {of_row}");
        assert!(total <= of_row * 3 * visible, "{name}: {total} of {of_row}");
    }
}

/// The steps of a statement, as SQLite plans them on empty tables.
fn plan(connection: &Connection, statement: &str) -> String {
    let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let parameters = rusqlite::params_from_iter((0..plan.parameter_count()).map(|_| 1_i64));
    let steps = plan.query_map(parameters, |row| row.get::<_, String>("detail")).unwrap();
    steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

#[test]
fn related_items_are_found_by_the_index_of_their_key() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema(&SQLITE)).unwrap();
    let keys = Collection::all().flat_map(|collection| {
        let member = move |name: &str| {
            let column = indexed_columns::column(collection, name).unwrap();
            let index = format!("USING INDEX items_by_{column} (");
            (collection, RelatedKey::Member(name.into()), index)
        };
        let members = collection.spec().indexed.iter().map(move |it| member(it.name));
        let id = (collection, RelatedKey::Id, "USING PRIMARY KEY (id=?)".to_owned());
        let parent = "USING INDEX items_by_parent (parent=?)".to_owned();
        members.chain([id, (collection, RelatedKey::Parent, parent)])
    });
    let id = ItemId::parse("01a21ff9-12b5-71f7-9b73-2d25c18a8f7b").unwrap();
    let values = [
        RelatedValue::String(id.to_string().into()),
        RelatedValue::Operand(Operand::current(Subject::CreatedBy)),
        RelatedValue::Operand(Operand::member("x")),
    ];
    for (collection, key, index) in keys {
        for (value, latest) in values.iter().flat_map(|it| [(it, None), (it, Some(()))]) {
            let exists = |name| {
                let test = super::Test::Exists;
                Predicate::Test(Operand::member(name), test)
            };
            let related = Related {
                collection,
                key: key.clone(),
                value: value.clone(),
                latest: latest.map(|()| exists("a")),
                holds: exists("b"),
            };
            let scope = Scope::of(Collection::known("files"));
            let only = Arc::new(Predicate::related(related));
            let reach = Reach::of_the_service(scope).only(only);
            for statement in [
                statements::ids(&SQLITE, &reach, &[id]),
                page::reached_totals_statement(&SQLITE, &reach, &[]),
            ] {
                let plan = plan(&connection, &statement.sql);
                let is_found = plan.contains(&format!("SEARCH r1 {index}"));
                assert!(is_found && !plan.contains("SCAN r1"), "{key:?} {plan}");
            }
        }
    }
}
