//! Expressions that are refused before they are evaluated, and the reported places of their errors.

use super::super::{Expression, KEY, STRING};
use super::compile;

/// Each is refused at the place of the first `§`, for a reason with these words.
fn refused(cases: &[(&str, &str)]) {
    for (marked, words) in cases {
        let offset = marked.find('§').expect("a mark");
        let source = marked.replacen('§', "", 1);
        match compile(&source) {
            Err(error) => {
                assert!(error.reason.contains(words), "{source}: {}", error.reason);
                assert_eq!(error.offset, offset, "{source}: {}", error.reason);
            }
            Ok(_) => panic!("{source} is not refused"),
        }
    }
}

#[test]
fn what_is_no_cel() {
    refused(&[
        ("1 +§", "this is not CEL: "),
        ("'é' == §== 'a'", "this is not CEL"),
        ("true &&\n  self.a == §)", "this is not CEL"),
        ("§", "this is not CEL"),
        ("self.title §title", "this is not CEL"),
        ("§'abc", "this is not CEL"),
    ]);
}

#[test]
fn mistakes_of_other_languages() {
    refused(&[
        ("self.status §= 'draft'", "this is not CEL: compare values with `==`, not with `=`"),
        ("self.a §<> 1", "use `!=` instead of `<>`"),
        ("self.title §=~ '^A'", "use `.matches()` instead of `=~`"),
        ("self.title §!~ '^A'", "instead of `!~`"),
        ("self.a == 1 §& self.b == 2", "use `&&` instead of `&`"),
        ("self.a == 1 §| self.b == 2", "use `||` instead of `|`"),
        ("self.a == 'x and y' §and self.b == 2", "use `&&` instead of `and`"),
        ("self.a == 1 §or self.b == 2", "use `||` instead of `or`"),
        ("§not has(self.a)", "use `!` instead of `not`"),
        ("self.end_date §is null", "use `== null` instead of `is null`"),
        ("§if self.a == 1 then true else false", "use `? :` instead of `if`"),
        ("§if(self.a == 1, true, false)", "`? :`"),
        ("§len(self.title) > 1", "there is no function len(); use size()"),
        ("§self.title.length() > 1", "there is no function length(); use size()"),
        ("§today() > self.a", "there is no function today(); `today` is a variable"),
        ("§today + 30 > self.a", "write a later date with add_days(date, n)"),
        ("§today > self.a + 30", "write a later date with add_days(date, n)"),
    ]);
    for sound in ["self.and == 1 && self.is == 2", "self.a == 'a = b' && self.a != \"and\""] {
        assert!(compile(sound).is_ok(), "{sound}");
    }
}

#[test]
fn unknown_names() {
    refused(&[
        ("§slef.title == ''", "there is no variable `slef`; did you mean `self`?"),
        ("'é' == 'é' && §progam != null", "there is no variable `progam`; did you mean `program`?"),
        ("§x == 1", "known: self, old, caller, now, today, parent, program, lib"),
        ("§wrods(self.title) > 1", "there is no function wrods(); did you mean `words`?"),
        ("§self.tags.exist(x, true)", "there is no function exist(); did you mean `exists`?"),
        ("§Thing{a: 1} == 1", "write a map"),
    ]);
}

#[test]
fn arguments() {
    refused(&[
        ("§words(self.a, 1) > 1", "wrong arguments for words(); write words(a string)"),
        ("§contains(self.a, 'x')", "write x.contains(a string), where x is a string"),
        ("§self.a.decimal() > 1", "wrong arguments for decimal(); write decimal("),
        ("§self.tags.all(x)", "wrong arguments for all()"),
        ("self.tags.all(§'x', true)", "must be a name for the element"),
        ("§self.tags.all(x, y, z)", "all() takes a variable and an expression"),
        ("has(§self)", "has() takes a member by its name"),
        ("words(§1) > 1", "the argument of words() must be a string, not an integer"),
        ("1 > 2 || §is_date() || true", "wrong arguments for is_date()"),
    ]);
}

#[test]
fn kinds_that_cannot_work() {
    refused(&[
        ("§'a' + 1 == 'a1'", "`+` does not take a string and an integer"),
        ("!§1", "the operand of `!` must be a boolean, not an integer"),
        ("-§'a' == 1", "the operand of `-` must be"),
        ("§1 && true", "a condition must be a boolean, not an integer"),
        ("§1", "the expression must be a boolean, not an integer"),
        ("§'yes'", "the expression must be a boolean, not a string"),
        ("§words(self.title)", "the expression must be a boolean, not an integer"),
        ("§true ? 1 : 'x'", "the expression must be a boolean, not an integer or a string"),
        ("§self.id == 5", "a string never equals an integer"),
        ("§now > '2026-01-01'", "`>` does not take a timestamp and a string"),
        ("§decimal('1') % 2 == 1", "`%` does not take a decimal and an integer"),
        ("§'x'.a == 1", "a value with members must be a map, not a string"),
        ("§1 in ['a']", "an integer is never in a list of a string"),
        ("1 in §2", "the value after `in` must be a list or a map"),
        ("§1 .all(x, true)", "the target of all() must be a list or a map"),
        ("[1].all(x, §x)", "the condition of all() must be a boolean, not an integer"),
        ("§[1].map(x, x)", "the expression must be a boolean, not a list"),
        ("§1u == 1", "unsigned numbers are not supported"),
        ("§b'a' == b'a'", "bytes are not supported"),
    ]);
    assert!(Expression::compile("1 + 1", STRING, &[]).is_err());
    assert!(Expression::compile("true", KEY, &[]).is_err());
    assert!(Expression::compile("self.a", KEY, &[]).is_ok());
}

#[test]
fn constants_that_fail() {
    refused(&[
        ("§decimal('x') > 1", "is not a decimal number"),
        ("§days_between('2026-02-30', '2026-01-01') > 1", "is not a date of the form"),
        ("§timestamp('yesterday') < now", "is not a time such as"),
        ("§timestamp('0000-12-31T00:00:00Z') < now", "is not a time such as"),
        ("§duration('2600000h') > duration('1h')", "is not a duration such as"),
        ("§timestamp('9999-12-31T23:59:59Z').getHours('+01:00') == 0", "beyond the year 9999"),
        ("§now.getHours('UTC', 'UTC') == 0", "write x.getHours(), where x is a timestamp"),
    ]);
}

#[test]
fn regular_expressions() {
    refused(&[
        ("self.a.matches(§self.b)", "it cannot be computed"),
        ("self.a.matches(§'(')", "this is not a regular expression: unclosed group"),
        ("self.a.matches(§'\\\\bword')", "write (?-u:\\b) instead of \\b"),
        ("self.a.matches(§'(\\\\w{1,50}){1,50}')", "too large"),
        ("self.a.matches(§'[ab]*a[ab]{30}')", "too large"),
        ("self.a.matches(§'(a)\\\\1')", "this is not a regular expression: backreferences"),
    ]);
}
