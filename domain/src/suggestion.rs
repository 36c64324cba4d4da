//! Suggestions for misspelt names: "Did you mean …?"

/// The minimal Jaro–Winkler similarity (0 to 1) of a suggestion.
const ALIKE: f64 = 0.8;

/// Returns the most similar candidate. Falls back to the first that contains the name as a word:
/// `title` suggests `project_title`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<_> = candidates.into_iter().collect();
    let start: String =
        name.chars().take(64).collect::<String>().to_lowercase().replace(['-', ' '], "_");
    let alike = candidates
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&start, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| *candidate);
    let has_word = |candidate: &&str| candidate.split('_').any(|word| word == start);
    alike.or_else(|| candidates.into_iter().find(has_word))
}
