//! Traces: what was evaluated, written as it is read.

use super::super::trace::MOST_PARTS;
use super::super::value::{Map, StringVal, Val};
use super::super::{ANY, Expression, JsonText, Scope, Trace, TracedPart};
use super::{ITEM, context, found, lookups, members, meter, scope};

/// The value of an expression as JSON, and the parts that were evaluated.
fn traced(source: &str) -> (String, Vec<TracedPart>, bool) {
    let found = found();
    let (after, context, lookups) = (members(ITEM), context(), lookups());
    let trace = Trace::default();
    let scope =
        Scope { lookups: &lookups, found: &found, trace: Some(&trace), ..scope(&after, &context) };
    let compiled = Expression::compile(source, ANY, &lookups)
        .unwrap_or_else(|error| panic!("{source}: {error:?}"));
    let value = compiled.json(&scope, &meter(), 300);
    let value = value.map_or_else(|error| format!("{error:?}"), |(json, _)| json.text);
    let (parts, is_cut) = trace.into_parts();
    (value, parts, is_cut)
}

/// The parts, each as `SOURCE = VALUE`.
fn parts(source: &str) -> Vec<String> {
    let part = |TracedPart { expression, outcome }| match outcome {
        Ok(JsonText { text, .. }) => format!("{expression} = {text}"),
        Err(reason) => format!("{expression} ! {reason}"),
    };
    traced(source).1.into_iter().map(part).collect()
}

/// Parts come before the whole, a part that is not evaluated is absent, an error is noted where it arises, and a macro shows
/// each element alone.
const PARTS: &str = r#"
self.count > 2 || self.budget > 1.0
    self.count = 3
    self.count > 2 = true
    self.count > 2 || self.budget > 1.0 = true
has(self.none) ? self.none : self.lead.name
    has(self.none) = false
    self.lead = {"name":"Ana","mail":"ana@example.org","roles":["author","editor"]}
    self.lead.name = "Ana"
    has(self.none) ? self.none : self.lead.name = "Ana"
self.none == 1 || self.yes
    self.none ! `self.none` is missing; test has(self.none) first
    self.yes = true
    self.none == 1 || self.yes = true
self.tags.exists(tag, tag == "feed")
    self.tags = ["rice","feed","rice"]
    tag = "rice"
    tag == "feed" = false
    tag = "feed"
    tag == "feed" = true
    self.tags.exists(tag, tag == "feed") = true
"#;

#[test]
fn parts_are_shown_in_the_order_of_their_evaluation() {
    let sources = PARTS.lines().filter(|line| !line.starts_with(' ') && !line.is_empty());
    let mut shown = vec![String::new()];
    for source in sources {
        shown.push(source.to_owned());
        shown.extend(parts(source).iter().map(|part| format!("    {part}")));
    }
    assert_eq!(shown, PARTS.lines().collect::<Vec<_>>());
}

/// The source of the whole is the last part; each is a fixed point of writing and reading.
#[test]
fn a_source_is_written_as_it_binds() {
    for source in [
        "(self.count + 1) * 2 == 8",
        "self.count - (1 - self.count) == 5",
        "!(self.yes && self.count > 2) || -self.count < -2",
        "self.yes ? (self.yes ? 1 : 2) : self.yes ? 3 : 4",
        "(self.yes ? 1 : 2) + 1 == 2",
        "\"rice\" in self.tags && !(self.count in [1, 2])",
        "self.title.words() == words(self.title)",
        "self.title.startsWith(\"Rice\") && self.title.matches(\"^R\\\\w\")",
        "self.rows.map(row, has(row.amount), decimal(row.amount))",
        "self.rows.filter(row, has(row.amount))[0].amount",
        "self.lead.`name` == self[\"lead\"].name",
        "{\"a\": self.count, 1: [self.yes]}[1]",
        "program.ceiling == 1000 && lib.all(item, item.size > 0)",
        "add_days(today, 3) > date(now)",
        "type(self.title) == string || null == self.none",
        "self.budget > decimal(\"1.10\") && now > timestamp(\"2026-01-01T00:00:00Z\")",
        "now - now < duration(\"90s\")",
    ] {
        let whole = |source: &str| {
            let last = traced(source).1.pop().unwrap_or_else(|| panic!("{source}: nothing"));
            last.expression
        };
        let written = whole(source);
        assert_eq!(written.replace(['(', ')', '`'], ""), plain(source), "{source}");
        assert_eq!(whole(&written), written);
        assert_eq!(traced(&written).0, traced(source).0, "{written}");
    }
    let kept = "(self.count + 1) * 2 - (1 - self.count) == 10";
    assert_eq!(traced(kept).1.pop().unwrap().expression, kept);
}

fn plain(source: &str) -> String {
    source.replace("self[\"lead\"]", "self.lead").replace(['(', ')', '`'], "")
}

#[test]
fn a_trace_is_bounded() {
    let (_, parts, is_cut) =
        traced("[1, 2, 3, 4, 5, 6, 7, 8, 9].all(a, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(b, a + b > 0))");
    assert_eq!((parts.len(), is_cut), (MOST_PARTS, true));
    let long = format!("'{}' + self.title", "é".repeat(4_000));
    let part = traced(&long).1.pop().expect("the sum");
    assert!(part.expression.len() <= 1_010 && part.expression.ends_with('…'), "{part:?}");
    let value = part.outcome.expect("a value");
    assert!(value.is_cut && value.text.len() <= 1_010 && value.text.ends_with("é…\""));
}

#[test]
fn values_of_all_kinds_have_json() {
    for (source, json) in [
        ("null", "null"),
        ("self.large", "12345678901234567890.12"),
        ("decimal('1.50') + 1", "2.50"),
        ("2.0 * self.count", "6.0"),
        ("1e308 * 10.0 * self.count", "\"inf\""),
        ("self.quoted", r#""a \"b\" é\n""#),
        ("now", "\"2026-02-01T12:30:00Z\""),
        ("now - timestamp('2026-02-01T12:00:00Z')", "\"1800s\""),
        ("type(self.count)", "\"int\""),
        ("{'a': [1, {true: self.yes}], 2: null}", r#"{"a":[1,{"true":true}],"2":null}"#),
        ("program.name", "\"P\""),
        ("caller", r#"{"id":"ana","roles":[]}"#),
        (
            "lib",
            r#"[{"id":"019a9a9a-0000-7000-8000-000000000002","parent":"019a9a9a-0000-7000-8000-000000000001","size":1},{"id":"019a9a9a-0000-7000-8000-000000000002","parent":"019a9a9a-0000-7000-8000-000000000001","size":2}]"#,
        ),
    ] {
        assert_eq!(traced(source).0, json, "{source}");
    }
    let whole = traced("self").0;
    assert!(whole.starts_with(r#"{"id":"019a9a9a-0000-7000-8000-000000000001","title":"#));
}

/// However a text is cut, JSON is left, no longer than it may be by more than its brackets.
#[test]
fn a_value_is_cut_to_json_at_any_length() {
    let text = r#"{"a":[1,{"b\"c":"d\\é\u0001\n"},[],[true,null,-1.5e3]],"":{"x":{}},"z":"end"}"#;
    let members = members(text);
    let value = Val::Map(Map::Json(domain::Value::from_encoded(members.encoded())));
    for most in 0..text.len() + 2 {
        let json = JsonText::of(&value, most);
        let read = domain::json::read(json.text.as_bytes());
        assert!(read.is_ok(), "{most}: {}", json.text);
        assert_eq!(json.is_cut, most < members.encoded().len(), "{most}");
    }
    let string = Val::String(StringVal::Borrowed("abc\u{1}\u{2}defg"));
    for most in 0..30 {
        let json = JsonText::of(&string, most);
        assert!(domain::json::read(json.text.as_bytes()).is_ok(), "{most}: {}", json.text);
    }
    assert_eq!(JsonText::of(&string, 4).text, "\"abc…\"");
}
