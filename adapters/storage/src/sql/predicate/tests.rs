use std::sync::Arc;

use application::query::{PageQuery, PageStart, Selection};
use application::{Reach, Scope};
use domain::predicate::{Operand, Related, RelatedKey, RelatedValue, Subject};
use domain::{Collection, ItemId, Predicate};
use rusqlite::Connection;

use crate::migration::schema;
use crate::sql::dialect::SQLITE;
use crate::sql::{indexed_columns, page, statements};

/// One's own items, and those about which one's own items are.
#[test]
fn few_candidates_are_found_by_indexes() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema(&SQLITE)).unwrap();
    let own = || {
        let creator = Operand::current(Subject::CreatedBy);
        Predicate::equals(creator, super::Literal::String("ana".into()))
    };
    let about = |name, key, value, holds| {
        let (collection, value) = (Collection::known(name), RelatedValue::Operand(value));
        Predicate::related(Related { collection, key, value, latest: None, holds })
    };
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
        let query = PageQuery {
            selection: Selection { filters: Vec::new(), search: None },
            order: Vec::new(),
            position: PageStart::Offset(0),
            limit: 25,
            fields: None,
            is_counted: true,
            count_by: None,
            related: Vec::new(),
        };
        let page = page::PageStatement::new(&SQLITE, &reach, &query, None, None);
        for statement in [totals, page.statement] {
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
