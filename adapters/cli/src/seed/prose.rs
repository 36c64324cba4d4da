//! Prose of a wanted length: fills the slots of sentences with what one project is about.

use std::fmt::{Display, Write as _};

use fastrand::Rng;

use super::random::{happens, pick};
use super::words::{DISCIPLINES, Discipline, FAMILY_NAMES, LANGUAGES, MUNICIPALITIES};

/// Half a sentence: a text that is nearer than that to its length is long enough.
const HALF_A_SENTENCE: usize = 75;

const SENTENCES_OF_A_PARAGRAPH: usize = 5;

/// What one project is about. Its texts and its library keep to these.
pub struct Study {
    /// Its field.
    pub discipline: &'static Discipline,
    /// Where it takes place.
    pub sites: Vec<&'static str>,
    /// The year it starts.
    pub year: i16,
    topics: Vec<&'static str>,
    measures: Vec<&'static str>,
}

impl Study {
    /// Draws a project.
    pub fn draw(random: &mut Rng) -> Self {
        let discipline = &DISCIPLINES[random.usize(..DISCIPLINES.len())];
        let count = pick(random, &[1, 1, 2, 2, 3, 5]);
        let sites = some(random, MUNICIPALITIES, count);
        let topics = some(random, discipline.topics, 3);
        let measures = some(random, discipline.measures, 3);
        Self { discipline, sites, year: random.i16(2016..=2027), topics, measures }
    }
}

/// So many of the choices, each once.
fn some(random: &mut Rng, choices: &[&'static str], count: usize) -> Vec<&'static str> {
    random.choose_multiple(choices, count).into_iter().copied().collect()
}

/// How paragraphs are set apart.
pub struct Markup {
    opening: &'static str,
    between: &'static str,
    closing: &'static str,
}

/// Paragraphs as typed.
pub const PLAIN: Markup = Markup { opening: "", between: "\n\n", closing: "" };

/// Paragraphs as pasted from a word processor.
pub const PASTED: Markup = Markup {
    opening: "<p class=\"MsoNormal\" style=\"text-align:justify;line-height:115%\">",
    between: "</p>\n<p class=\"MsoNormal\" style=\"text-align:justify;line-height:115%\">",
    closing: "</p>",
};

/// Writes about one project.
pub struct Prose<'a> {
    /// The project.
    pub study: &'a Study,
    /// Decides on every word.
    pub random: &'a mut Rng,
}

impl Prose<'_> {
    /// One sentence, made from one of the templates.
    pub fn sentence(&mut self, templates: &[&str]) -> String {
        let mut text = String::with_capacity(256);
        let template = pick(self.random, templates);
        self.fill(template, &mut text);
        text
    }

    /// Paragraphs of about `length` bytes, and of one sentence at least.
    pub fn paragraphs(&mut self, templates: &[&str], length: usize, markup: &Markup) -> String {
        let mut text = String::with_capacity(length + 4 * HALF_A_SENTENCE);
        text.push_str(markup.opening);
        let mut at = self.random.usize(..templates.len());
        for count in 1.. {
            self.fill(templates[at], &mut text);
            if text.len() + markup.closing.len() + HALF_A_SENTENCE >= length {
                break;
            }
            text.push_str(if count % SENTENCES_OF_A_PARAGRAPH == 0 { markup.between } else { " " });
            // A step short of the whole way round never comes to the same sentence again at once.
            at = (at + self.random.usize(1..templates.len())) % templates.len();
        }
        text.push_str(markup.closing);
        text
    }

    /// Slots stand in braces, so every second piece is one.
    fn fill(&mut self, template: &str, text: &mut String) {
        let start = text.len();
        for (index, piece) in template.split(['{', '}']).enumerate() {
            if index % 2 == 0 {
                text.push_str(piece);
            } else {
                self.fill_slot(piece, text);
            }
        }
        if let Some(first) = text.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
    }

    fn fill_slot(&mut self, slot: &str, text: &mut String) {
        let Study { discipline, topics, measures, sites, .. } = self.study;
        match slot {
            "topic" => text.push_str(pick(self.random, topics)),
            "measure" => text.push_str(pick(self.random, measures)),
            "measures" => self.push_measures(text),
            "place" => text.push_str(pick(self.random, sites)),
            "people" => text.push_str(pick(self.random, discipline.people)),
            "agency" => text.push_str(pick(self.random, discipline.agencies)),
            "language" => text.push_str(pick(self.random, LANGUAGES)),
            "author" => self.push_author(text),
            "small" => push(text, self.random.u8(2..=12)),
            "count" => push(text, self.random.u16(30..=600)),
            "percent" => push(text, self.random.u8(11..=96)),
            "decimal" => {
                push(text, format_args!("{}.{}", self.random.u8(1..=60), self.random.u8(..=9)));
            }
            "ratio" => {
                push(text, format_args!("{}.{}", self.random.u8(1..=4), self.random.u8(1..=9)));
            }
            "months" => push(text, pick(self.random, &[6, 12, 18, 24, 36])),
            "year" => push(text, self.earlier_year()),
            other => unreachable!("there is no slot `{other}`"),
        }
    }

    /// Two that differ.
    fn push_measures(&mut self, text: &mut String) {
        let measures = &self.study.measures;
        let first = self.random.usize(..measures.len());
        push(
            text,
            format_args!("{} and {}", measures[first], measures[(first + 1) % measures.len()]),
        );
    }

    fn push_author(&mut self, text: &mut String) {
        text.push_str(pick(self.random, FAMILY_NAMES));
        if happens(self.random, 40) {
            text.push_str(" et al.");
        } else if happens(self.random, 50) {
            push(text, format_args!(" and {}", pick(self.random, FAMILY_NAMES)));
        }
        push(text, format_args!(" ({})", self.earlier_year()));
    }

    /// A year before the project's.
    pub fn earlier_year(&mut self) -> i16 {
        self.study.year - self.random.i16(1..=14)
    }
}

/// Appends what cannot fail to be written.
fn push(text: &mut String, value: impl Display) {
    let _ = write!(text, "{value}");
}
