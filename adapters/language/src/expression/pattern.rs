//! Regular expressions as tables (DFA): each match takes one step per byte of the text.

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, nfa::thompson};

use super::Outcome;
use super::meter::Meter;

const MOST_TABLE: usize = 1 << 20;
const MOST_WORKSPACE: usize = 2 << 20;
/// Limit on the NFA: stops large repetitions before a table is built.
const MOST_AUTOMATON: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Pattern {
    pub source: Box<str>,
    automaton: Box<dense::DFA<Vec<u32>>>,
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let limits = dense::Config::new()
            .dfa_size_limit(Some(MOST_TABLE))
            .determinize_size_limit(Some(MOST_WORKSPACE))
            .start_kind(StartKind::Unanchored)
            .match_kind(MatchKind::LeftmostFirst)
            .accelerate(true);
        let automaton = thompson::Config::new()
            .nfa_size_limit(Some(MOST_AUTOMATON))
            .which_captures(thompson::WhichCaptures::None);
        let syntax = syntax::Config::new().nest_limit(50);
        let dfa = dense::Builder::new()
            .configure(limits)
            .thompson(automaton)
            .syntax(syntax)
            .build(source);
        dfa.map(|dfa| Self { source: source.into(), automaton: Box::new(dfa) })
            .map_err(|error| reason(source, &error))
    }

    pub(super) fn size(&self) -> usize {
        self.automaton.memory_usage()
    }

    pub(super) fn is_in(&self, text: &str, meter: &Meter) -> Outcome<bool> {
        meter.charge(text.len())?;
        let found = self.automaton.try_search_fwd(&Input::new(text).earliest(true));
        found
            .map(|found| found.is_some())
            .map_err(|error| failed!("the regular expression cannot be searched for: {error}"))
    }
}

fn reason(source: &str, error: &dense::BuildError) -> String {
    if let Err(error) = regex_automata::util::syntax::parse(source) {
        let detail = error.to_string();
        let last = detail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return format!(
            "this is not a regular expression: {}",
            last.trim().trim_start_matches("error: ")
        );
    }
    if error.is_size_limit_exceeded() {
        return "the regular expression is too large; use smaller repetitions, or (?-u:\\w) and (?-u:\\d) for ASCII only".to_owned();
    }
    // Word boundaries in a table would need whole characters.
    if source.contains("\\b") || source.contains("\\B") {
        return "word boundaries are supported for ASCII only: write (?-u:\\b) instead of \\b"
            .to_owned();
    }
    "the regular expression is too large or cannot be matched in one pass".to_owned()
}
