//! The outcome of a rule trial, written as text: values keep every digit.

use application::{TracedExpression, TrialError, TrialReport, TrialValue};
use domain::Pointer;
use domain::json::push_string;

use super::writer::close_object;

pub fn rule_trial(report: &TrialReport, subject: &str) -> String {
    let mut out = "{".to_owned();
    push_member(&mut out, "verdict", Some(report.verdict.name()));
    push_member(&mut out, "skipped", report.skipped.as_deref());
    push_value(&mut out, report.value.as_ref());
    push_member(&mut out, "message", report.message.as_deref());
    push_list(&mut out, "trace", &report.trace, push_traced);
    push_raw(&mut out, "trace_truncated", if report.is_trace_cut { "true" } else { "false" });
    let base = Pointer::to_member(subject);
    push_list(&mut out, "errors", &report.errors, |out, error| push_error(out, error, &base));
    push_member(&mut out, "case", report.case.as_deref());
    close_object(&mut out);
    out
}

fn push_raw(out: &mut String, name: &str, json: &str) {
    out.extend(["\"", name, "\":", json, ","]);
}

fn push_member(out: &mut String, name: &str, text: Option<&str>) {
    let mut json = String::new();
    match text {
        Some(text) => push_string(&mut json, text),
        None => json.push_str("null"),
    }
    push_raw(out, name, &json);
}

fn push_value(out: &mut String, value: Option<&TrialValue>) {
    let is_cut = value.is_some_and(|value| value.is_cut);
    push_raw(out, "value", value.map_or("null", |value| &value.json));
    push_raw(out, "truncated", if is_cut { "true" } else { "false" });
}

fn push_list<T>(out: &mut String, name: &str, elements: &[T], push: impl Fn(&mut String, &T)) {
    out.extend(["\"", name, "\":["]);
    for (index, element) in elements.iter().enumerate() {
        out.push_str(if index == 0 { "{" } else { ",{" });
        push(out, element);
        close_object(out);
    }
    out.push_str("],");
}

fn push_traced(out: &mut String, TracedExpression { expression, outcome }: &TracedExpression) {
    push_member(out, "expression", Some(expression));
    push_value(out, outcome.as_ref().ok());
    push_member(out, "error", outcome.as_ref().err().map(String::as_str));
}

fn push_error(out: &mut String, error: &TrialError, base: &Pointer) {
    let number = |number: Option<u32>| number.map_or_else(|| "null".into(), |it| it.to_string());
    push_member(out, "message", Some(&error.message));
    push_member(out, "pointer", Some(&error.pointer.below(base).to_string()));
    push_raw(out, "line", &number(error.place.map(|(line, _)| line)));
    push_raw(out, "column", &number(error.place.map(|(_, column)| column)));
}
