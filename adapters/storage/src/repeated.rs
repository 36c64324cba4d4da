//! A statement's text several times over, so that one trip to the driver's thread does several writes.
//!
//! The numbers of times are powers of two: few texts to keep prepared, and few trips for any number of writes.

use std::fmt::Write;

/// Most times a text is repeated.
const MOST: usize = 16;

/// A text that takes the parameters `$1` to `$10`, repeated 1, 2, 4, 8 and 16 times; each repetition takes the next ten.
#[derive(Debug)]
pub(crate) struct Repeated(Vec<String>);

/// Parameters of one repetition.
const PARAMETERS: usize = 10;

impl Repeated {
    pub fn new(text: &str) -> Self {
        let times = (0..=MOST.ilog2()).map(|power| 1_usize << power);
        Self(times.map(|times| (0..times).map(|index| renumbered(text, index * PARAMETERS)).collect::<Vec<_>>().join("; ")).collect())
    }

    /// How many of `wanted` writes the longest fitting text does; at least 1.
    pub fn times(wanted: usize) -> usize {
        1 << wanted.clamp(1, MOST).ilog2()
    }

    /// The text repeated so many times, which must be what [`Self::times`] gave.
    pub fn text(&self, times: usize) -> &str {
        &self.0[times.ilog2() as usize]
    }
}

/// `text` with `offset` added to the number of every parameter.
fn renumbered(text: &str, offset: usize) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let number: usize = part[..digits].parse().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(out, "${}{}", number + offset, &part[digits..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Repeated;

    #[test]
    fn each_repetition_has_parameters_of_its_own() {
        let repeated = Repeated::new("SELECT $1, $10, $1");
        assert_eq!(repeated.text(1), "SELECT $1, $10, $1");
        assert_eq!(repeated.text(2), "SELECT $1, $10, $1; SELECT $11, $20, $11");
        assert_eq!(repeated.text(16).matches("SELECT").count(), 16);
    }

    #[test]
    fn the_largest_fitting_text_is_taken() {
        for (wanted, times) in [(0, 1), (1, 1), (2, 2), (3, 2), (15, 8), (16, 16), (256, 16)] {
            assert_eq!(Repeated::times(wanted), times, "{wanted}");
        }
    }
}
