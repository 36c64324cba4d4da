mod conditions;
mod oracle;
mod refusals;
mod world;

use std::sync::Arc;

use domain::Collection;

use crate::expression::{Expression, KEY, LookupBy, LookupTarget, Variables};

/// Each is `NAME`, the collection, the key's member (empty: by id) and the key.
const LOOKUPS: [(&str, &str, &str, &str); 9] = [
    ("program", "proposedprograms", "", "self.program"),
    ("owner", "proposals", "", "parent"),
    ("libs", "lib", "parent", "self.id"),
    ("seats", "gadscores", "subject", "self.id"),
    ("same", "files", "a", "self.b.c"),
    ("mine", "files", "a", "caller.id"),
    ("level", "files", "a", "caller.level"),
    ("steps", "status", "subject", "program.id"),
    ("far", "files", "a", "owner.a"),
];

fn lookups() -> Arc<[(String, LookupTarget)]> {
    let mut all: Vec<(String, LookupTarget)> = Vec::new();
    for (name, collection, member, key) in LOOKUPS {
        let by = match member {
            "" => LookupBy::Id,
            "parent" => LookupBy::Parent,
            member => LookupBy::Member(member.into()),
        };
        let (variables, names) = (Variables::OF_AN_ITEM, LookupTarget::variables(&all));
        let value = Expression::compile_with(variables, key, KEY, &names).unwrap();
        let collection = Collection::known(collection);
        let target = LookupTarget { collection, by, value, offset: 0 };
        target.check_key(variables, &all).unwrap();
        all.push((name.to_owned(), target));
    }
    all.into()
}
