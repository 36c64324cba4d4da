//! Conditions that databases cannot select by, and the reported places of their errors.

use super::lookups;
use crate::expression::predicate::Condition;
use crate::expression::{Expression, KEY, LookupBy, LookupTarget, Variables};
use domain::Collection;

/// Each is refused at the place of the first `§`, for a reason with these words.
fn refused(variables: Variables, cases: &[(&str, &str)]) {
    for (marked, words) in cases {
        let offset = marked.find('§').expect("a mark");
        let source = marked.replacen('§', "", 1);
        match Condition::compile(&source, variables, lookups()) {
            Err(error) => {
                assert!(error.reason.contains(words), "{source}: {}", error.reason);
                assert_eq!(error.offset, offset, "{source}: {}", error.reason);
            }
            Ok(_) => panic!("{source} is not refused"),
        }
    }
}

#[test]
fn variables() {
    refused(
        Variables::OF_AN_ITEM,
        &[
            ("true || §now > timestamp(0)", "use `today`"),
            ("has(self.a) && §old.a == 1", "there is no variable `old`"),
            (
                "§meta.updated_at > timestamp(0)",
                "`meta` has no member `updated_at`; known: created_by",
            ),
            ("has(§meta.version)", "known: created_by, created_at"),
            (r#"§meta["x"] == 1"#, "`meta` has no member `x`"),
            ("§claims.sub == ''", "there is no variable `claims`"),
        ],
    );
    let change = "§now > timestamp(0) && self.a == old.a";
    refused(Variables::OF_A_CHANGE, &[(change, "use `today`")]);
}

#[test]
fn functions_and_arithmetic() {
    refused(
        Variables::OF_AN_ITEM,
        &[
            (
                "true && §self.a.matches('x')",
                "`matches` cannot be used on items in this way in a policy, because databases select items by it; use ==, <, in, startsWith() or has()",
            ),
            ("false && §self.a.contains('x')", "`contains` cannot"),
            ("§self.a.endsWith(caller.id)", "`endsWith` cannot"),
            ("words(§self.a) > 1", "`words` cannot"),
            ("lower(§self.a) == 'x'", "use ==, <, in, startsWith() or has()"),
            ("days_between(§self.a, today) > 1", "`days_between` cannot"),
            ("§meta.created_at.getFullYear() == 2026", "`getFullYear` cannot"),
            ("size(§self.tags) == 0", "test whether a lookup has items: size(x) == 0"),
            ("size(§libs) == 2", "size(x) == 0, size(x) != 0 or size(x) > 0"),
            ("§self.a + 1 > 2", "`+` cannot be used on items in this way"),
            ("1 < -§self.a", "`-` cannot"),
            ("§self.a % 2 == 0", "as in self.end_date < add_days(today, 30)"),
            ("caller.agency.startsWith(§self.a)", "where x does not depend on the item"),
            ("type(§self.a) == string", "`type` cannot"),
            ("dyn(§self.a) == 1", "`dyn` cannot"),
        ],
    );
}

#[test]
fn comparisons() {
    refused(
        Variables::OF_AN_ITEM,
        &[
            ("§self.a == self.b", "one side must not depend on the item, except in `change`"),
            ("§self.a < self.b", "one side must not depend on the item, as in"),
            ("§self.a in self.b", "one side must not depend on the item, as in self.a in"),
            ("§self.a in [self.b, 1]", "one side must not depend on the item"),
            ("true && §self.a == [1]", "compare their elements"),
            ("§self.a in [1, [2]]", "compare their elements"),
            ("[1] in §self.a", "compare their elements"),
            ("§self.a < true", "compare booleans with == or !="),
            ("§self.a == 1e301", "numbers up to 1e300"),
            ("§self.a == double('NaN')", "numbers up to 1e300"),
            ("§self.a[0] == 1", r#"search a list by "x" in self.tags"#),
            ("§self.a[caller.agency] == 1", "name a member"),
            ("caller.levels[§self.a] == 1", "name a member"),
        ],
    );
    let choices =
        format!("{}§self.a ? true : false{}", "(".repeat(4), ") ? self.b : self.c".repeat(4));
    let elements = format!("§self.a in [{}1]", "1,".repeat(2_001));
    let choice = "(has(§self.a) ? self.a : self.b) == 1";
    refused(
        Variables::OF_AN_ITEM,
        &[
            (choice, "choose between conditions"),
            (&choices, "too many conditions before `?` have a `? :` themselves"),
            (&elements, "at most 2,000 constants"),
            ("'a' in §self", "`self` is no value that a policy can test; test a member of it"),
            ("'a' in §meta", "`meta` is no value"),
            ("(§self.a == 1) == true", "`==` cannot"),
        ],
    );
    refused(
        Variables::OF_A_CHANGE,
        &[
            (
                "true && §old == null",
                "`old` is no value that a policy can test; it is never null in a change",
            ),
            ("§self == old", "is no value"),
            ("§self.a < old.a", "one side must not depend on the item"),
            ("§self.a == program.a", "one side must not depend on the item"),
            ("libs.exists(x, §old.a == 1)", "within exists()"),
        ],
    );
}

#[test]
fn loops_and_lookups() {
    refused(
        Variables::OF_AN_ITEM,
        &[
            ("§self.tags.exists(t, t == 'x')", r#"search a list of the item by "x" in self.tags"#),
            ("§self.tags.all(t, t == 'x')", "call it on a lookup or on a constant list"),
            ("§libs.exists_one(x, true)", "use exists(), all() or size(x) == 0 of a lookup"),
            ("'x' in §libs.map(x, x.a)", "`map` cannot"),
            ("§libs == []", "`libs` is no value that a policy can test; use exists()"),
            ("§libs[0].a == 1", "name a member"),
            (
                "§program == caller",
                "`program` is no value that a policy can test; compare it with null",
            ),
            ("has(caller.id) && §program.exists(k, true)", "`exists` cannot"),
            ("latest(§self.tags) == 1", "`latest` cannot"),
            ("§libs.a == 1", "must be a map, not a list"),
            ("§libs.map(x, x.a).exists(y, true)", "call it on a lookup or on a constant list"),
            ("latest(§libs) == 1", "where x is a lookup"),
            (
                "libs.exists(x, x.a == §self.a)",
                "within exists(), all() and filter() of a lookup, only its element",
            ),
            ("libs.exists(x, §parent == 'x')", "within exists()"),
            ("libs.exists(x, x.a == §meta.created_by)", "within exists()"),
            ("libs.exists(x, §program.a == 1)", "within exists()"),
            ("libs.exists(x, §seats.exists(y, true))", "within exists()"),
            ("libs.filter(x, size(§seats) == 0).exists(y, true)", "within exists()"),
            (
                "libs.exists(x, §x == caller)",
                "`x` is no value that a policy can test; test a member",
            ),
            ("libs.exists(x, §x.id.y == 1)", "`x` is no value"),
            ("libs.exists(x, §x.meta == 1)", "`x` is no value"),
            ("libs.exists(x, §x.meta.version == 1)", "`x` is no value"),
            ("libs.exists(x, §x.tags.exists(t, t == 1))", "`exists` cannot"),
        ],
    );
}

#[test]
fn keys_of_lookups() {
    for (key, words) in [
        ("self.a + 'x'", Some("`+` cannot")),
        ("lower(self.a)", Some("`lower` cannot")),
        ("program.meta.created_at", Some("`program` is no value")),
        ("program.meta.created_by", None),
        ("latest(libs).a", Some("`latest` cannot")),
        ("has(self.a) ? self.a : null", Some("choose between")),
        ("libs[0].id", Some("name a member")),
        ("program.b.c", None),
        ("caller.a + 'x'", None),
        ("'x'", None),
    ] {
        let lookups = lookups();
        let variables = Variables::OF_AN_ITEM;
        let names = LookupTarget::variables(&lookups);
        let value = Expression::compile_with(variables, key, KEY, &names).unwrap();
        let (collection, by) = (Collection::known("files"), LookupBy::Member("a".into()));
        let target = LookupTarget { collection, by, value, offset: 0 };
        let error = target.check_key(variables, &lookups).err();
        assert_eq!(error.is_some(), words.is_some(), "{key}: {error:?}");
        let reason = error.map(|error| error.reason).unwrap_or_default();
        assert!(reason.contains(words.unwrap_or_default()), "{key}: {reason}");
    }
}
