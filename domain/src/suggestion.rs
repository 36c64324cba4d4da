//! "Did you mean …?"

/// How alike two names must be (0 to 1, Jaro–Winkler) for one to be worth suggesting for the other.
const ALIKE: f64 = 0.8;

/// The candidate most like `name`, if one is alike enough to be meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let start: String =
        name.chars().take(64).collect::<String>().to_lowercase().replace(['-', ' '], "_");
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&start, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}
