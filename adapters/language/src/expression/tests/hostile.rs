//! Expressions that would need unbounded time or memory, on the largest possible item: each ends
//! with a result or with an exhausted budget.

use std::fmt::Write as _;
use std::sync::LazyLock;

use domain::{Found, Item, Members};
use proptest::prelude::*;

use super::super::{
    EvaluationError, Expression, STRING, Scope, Shape,
    evaluate::Evaluation,
    kinds::{ANY, Kinds, ValueKind},
};
use super::{context, item, lookups, members, meter, scope};

/// Eight mebibytes: a string, an escaped text, a list of numbers, of texts, of objects, an object of
/// many members, a deep list.
static LARGE: LazyLock<Members> = LazyLock::new(|| {
    let quarter = 1 << 20;
    let mut json = format!(
        "{{\"s\": \"ab\", \"big\": \"{}\", \"escaped\": \"{}\"",
        "a b ".repeat(quarter / 2),
        "\\n".repeat(quarter / 2)
    );
    let _ = write!(json, ", \"numbers\": [{}0]", "7,".repeat(quarter / 2));
    let _ = write!(json, ", \"texts\": [{}\"\"]", "\"abcdefghij\",".repeat(quarter / 16));
    let _ = write!(json, ", \"rows\": [{}{{}}]", "{\"a\": 1, \"b\": \"x\"},".repeat(quarter / 32));
    let names: Vec<_> = (0..60_000).map(|index| format!("\"name{index}\": {index}")).collect();
    let names = names.join(",");
    let _ = write!(json, ", \"map\": {{{names},\"last\": 0}}, \"other\": {{\"last\": 0,{names}}}");
    let _ = write!(json, ", \"deep\": {}{}", "[".repeat(100), "]".repeat(100));
    let _ = write!(json, ", \"precise\": [{}0.5]}}", "0.12345678901234567,".repeat(quarter / 32));
    members(&json)
});

static FOUND: LazyLock<[Found; 2]> = LazyLock::new(|| {
    let text = format!(r#"{{"text": "{}", "n": 1}}"#, "x".repeat(4_000));
    let items: Vec<Item> = (0..1_000).map(|_| item(&text)).collect();
    [Found::Items(items.clone()), Found::Items(items)]
});

fn judge(source: &str) -> Result<bool, EvaluationError> {
    let (context, lookups) = (context(), lookups());
    let scope = scope(&LARGE, &context);
    let scope = Scope { before: Some(&LARGE), lookups: &lookups, found: &*FOUND, ..scope };
    super::compile(source).unwrap().boolean(&scope, &meter())
}

/// Expressions whose work grows with a power of the item, or exponentially.
fn exhausting() -> Vec<String> {
    let wide = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(x, ".repeat(8);
    let more = [
        format!("[self.s]{}.size() > 0", ".map(x, x + x)".repeat(30)),
        format!("{wide}true{}", ")".repeat(8)),
    ];
    let all = [
        "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, true)))",
        "self.numbers.map(a, self.numbers.map(b, a + b)).size() > 0",
        "self.numbers.all(a, size(self.big) > 0)",
        "self.numbers.all(a, self.big.contains('aaaaaaaaaa') || true)",
        "self.numbers.all(a, !self.big.matches('x$'))",
        "self.numbers.all(a, self.big == self.big)",
        "self.numbers.all(a, self.big < self.big || true)",
        "self.numbers.all(a, !(8 in self.numbers))",
        "self.numbers.all(a, self.numbers[100000] == 7)",
        "self.numbers.all(a, self.rows == self.rows)",
        "self.numbers.all(a, self.missing == 1 || true)",
        "self.numbers.all(a, self.map.last == 0)",
        "self.numbers.all(a, today == today && self.id == self.id)",
        "self.numbers.all(a, add_days(today, a) != '')",
        "self.numbers.all(a, now.getHours('Asia/Manila') == 20)",
        "self.numbers.all(a, now.getHours('+0' + string(a) + ':30') == 20)",
        "self.numbers.all(a, now.getHours(self.s + string(a)) == 20 || true)",
        "self.numbers.all(a, !orcid(self.big) && !ror(self.big) && !doi(self.big))",
        "self.numbers.all(a, amount(string(a) + '.00 PHP') > 0 && currency('1 PHP') == 'PHP')",
        "self.numbers.all(a, timestamp('2026-01-01T0' + string(a) + ':00:00Z') < now)",
        "self.numbers.all(a, self.numbers[dyn(100000.0)] == 7)",
        "self.numbers.all(a, dyn(self.big) == dyn(self.big))",
        "self.numbers.all(a, self.numbers.sum() > a)",
        "self.numbers.map(a, self.escaped).size() > 0",
        "self.numbers.map(a, lower(self.big)).size() > 0",
        "self.numbers.map(a, [a, a, a, a, a, a, a, a]).size() > 0",
        "self.numbers.map(a, {'a': a, 'b': a}).size() > 0",
        "self.numbers.map(a, string(a)).size() > 0",
        "self.numbers.map(a, decimal(a)).unique().size() > 0",
        "unique(self.map.map(k, k)).size() > 0",
        "self.map == self.other",
        "self.escaped + self.escaped + self.escaped + self.escaped + self.escaped + self.escaped + self.escaped + self.escaped == ''",
        "lib.all(a, lib.all(b, a == b))",
        "lib.all(a, lib.all(b, a.text == b.text))",
        "lib.map(a, lib.map(b, a.text + b.text)).size() > 0",
        "self.numbers + self.numbers == []",
        "self.precise.map(a, self.precise.map(b, a * b)).size() > 0",
    ];
    all.into_iter().map(str::to_owned).chain(more).collect()
}

/// Expressions that look at everything once, which the budget allows.
fn affordable() -> Vec<String> {
    let sum = format!("{} > 0", vec!["size(self.s)"; 60].join(" + "));
    let all = [
        "size(self.big) == 2097152 && size(self.escaped) == 524288",
        "words(self.big) == 1048576",
        "!self.big.matches('(a*)*c') && !self.big.matches('(a|b|ab)*x$')",
        "self.numbers.size() == 524289 && self.rows.size() == 32769",
        "self == old && self.big == old.big",
        "self.rows.all(row, !has(row.a) || row.a == 1)",
        "!('x' in self.texts)",
        "self.deep == old.deep && self.deep[0][0][0].size() == 1",
        "self.map.last == 0 && 'last' in self.map && self.map.size() == 60001",
        "lib.all(item, item.n == 1 && size(item.text) == 4000)",
        "lib.map(item, item.n).sum() == 1000",
        "lower(self.big).size() == 2097152",
    ];
    all.into_iter().map(str::to_owned).chain([sum]).collect()
}

#[test]
fn what_grows_with_a_power_of_the_item_ends() {
    for source in exhausting() {
        let outcome = judge(&source);
        let start = &source[..source.len().min(100)];
        assert_eq!(outcome, Err(EvaluationError::BudgetExhausted), "{start}");
    }
}

#[test]
fn what_looks_at_everything_once_has_a_result() {
    for source in affordable() {
        assert_eq!(judge(&source), Ok(true), "{source}");
    }
}

#[test]
fn sources_that_nest_or_repeat_without_end_are_refused() {
    let long = "x".repeat(20_000);
    for source in [
        format!("{}true{}", "(".repeat(8_000), ")".repeat(8_000)),
        format!("{}1{}", "[".repeat(8_000), "]".repeat(8_000)),
        format!("1{} == 1", "+1".repeat(8_000)),
        format!("self{} == 1", ".a".repeat(8_000)),
        format!("self{} == 1", "[0]".repeat(5_000)),
        format!("{}true{}", "true ? ".repeat(2_000), " : true".repeat(2_000)),
        format!("{}true{}", "[1].all(x, ".repeat(1_000), ")".repeat(1_000)),
        format!("{}1", "{'a': ".repeat(2_000)),
        format!("'{long}' == ''"),
        "(".repeat(16_000),
        "[".repeat(16_000),
        "a.b(".repeat(4_000),
        "'".repeat(16_001),
        "?".repeat(16_000),
        "\u{0}\u{1}".repeat(8_000),
    ] {
        assert!(super::compile(&source).is_err(), "{}", &source[..20]);
    }
    // The parser takes pairs of these together.
    for source in [format!("{}true", "!".repeat(16_000)), format!("{}1 == 1", "-".repeat(8_000))] {
        assert!(super::compile(&source).is_ok());
    }
    let conditions = vec!["true"; 2_000].join(" && ");
    assert!(super::compile(&conditions).is_ok());
    let elements = format!("1 in [{}]", vec!["1"; 5_000].join(","));
    assert!(super::compile(&elements).is_ok());
}

/// Tables take a second to make, and a megabyte each: a short source could ask for hundreds.
#[test]
fn many_or_large_regular_expressions_are_refused() {
    for (pattern, times) in [("^a", 33), ("[ab]*a[ab]{12}", 20)] {
        let source = vec![format!("'a'.matches('{pattern}')"); times].join(" || ");
        let error = super::compile(&source).expect_err("a refusal");
        assert!(error.reason.contains("regular expressions"), "{error:?}");
        assert!(error.offset > 0, "{error:?}");
    }
    assert!(super::compile(&vec!["'a'.matches('^a')"; 32].join(" || ")).is_ok());
}

fn any_source() -> impl Strategy<Value = String> {
    let leaves = "1|0|-9223372036854775808|9223372036854775807|2.5|1e308|0.1|'a'|''|'2026-01-31'|'12.10'\
        |true|false|null|self|old|caller|caller.id|now|today|parent|program|lib|self.title|self.count\
        |self.budget|self.large|self.rows|self.lead|self.tags|self.missing|self.amounts|[]|{}|x|int\
        |duration('1h')|timestamp(0)|decimal('79228162514264337593543950335')\
        |decimal('0.0000000000000000000000000001')";
    let leaf = prop::sample::select(leaves.split('|').collect::<Vec<_>>()).prop_map(str::to_owned);
    // A kind of expression is chosen, one of its forms, and the parts of the form.
    let with = |form: &str, names: &str| -> Vec<String> {
        names.split(' ').map(|name| form.replace('_', name)).collect()
    };
    let functions = super::super::functions::FUNCTIONS.iter().flat_map(|function| {
        let one = function.parameters.len() == 1;
        let forms = if one { ["(①)._()", "_(①)"] } else { ["(①)._(②)", "_(①, ②)"] };
        forms.map(|form| form.replace('_', function.name))
    });
    let mut kinds = vec![
        with("(① _ ②)", "+ - * / % == != < <= > >= && || in"),
        functions.collect(),
        with("(①)._(x, ②)", "all exists exists_one map filter"),
    ];
    let others = "(① ? ② : ③)|(①)[②]|{①: ②}|[①, ②]|has((①).name)|(①).name|!(①)|-(①)";
    kinds.extend(others.split('|').map(|form| vec![form.to_owned()]));
    leaf.prop_recursive(5, 60, 4, move |inner| {
        let form = prop::sample::select(kinds.clone()).prop_flat_map(prop::sample::select);
        (form, [inner.clone(), inner.clone(), inner]).prop_map(|(form, parts)| {
            let part = |letter| match letter {
                '①'..='③' => parts[letter as usize - '①' as usize].clone(),
                other => other.to_string(),
            };
            form.chars().map(part).collect()
        })
    })
}

fn evaluate_any(source: &str) -> Option<(Kinds, Result<ValueKind, EvaluationError>)> {
    let (after, context, lookups) = (members(super::ITEM), context(), lookups());
    let found = [Found::Items(vec![item(r#"{"name": "P"}"#)]), Found::Items(vec![item("{}")])];
    let scope = Scope { lookups: &lookups, found: &found, ..scope(&after, &context) };
    let compiled = Expression::compile(source, ANY, &lookups).ok()?;
    let meter = meter();
    let kind = Evaluation::new(&scope, &meter).value(&compiled.root).map(|value| value.kind());
    Some((compiled.kinds, kind))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_expression_panics_and_its_kind_is_one_of_the_predicted(source in any_source()) {
        if let Some((predicted, outcome)) = evaluate_any(&source) {
            match outcome {
                Ok(kind) => prop_assert!(predicted.has(kind), "{source}: {kind:?} is not among {predicted}"),
                Err(EvaluationError::Failed(reason)) => prop_assert!(reason.chars().count() <= 200, "{source}: {reason}"),
                Err(EvaluationError::BudgetExhausted) => {}
            }
        }
    }

    #[test]
    fn no_text_makes_the_compiler_panic(source in "[a-z0-9 .,()\\[\\]{}'\"+*/%<>=!?:&|\\\\é\n-]{0,60}") {
        if let Err(error) = Expression::compile(&source, STRING, &[("lib".to_owned(), Shape::Many)]) {
            prop_assert!(source.is_char_boundary(error.offset), "{error:?}");
            prop_assert!(error.reason != "the expression cannot be read", "{source}");
        }
    }
}
