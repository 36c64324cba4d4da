//! Made-up proposals: all 21 fields, in the mixes and sizes agencies see.

use fastrand::Rng;
use jiff::civil::{Date, date};

use super::object::Object;
use super::prose::{PASTED, PLAIN, Prose, Study};
use super::random::{happens, normal, of_row, pick};
use super::sentences::{
    BACKGROUND, ECONOMIC_IMPACTS, GENERAL_OBJECTIVES, LIMITATIONS, METHODS, OUTCOMES,
    SOCIAL_IMPACTS, SPECIFIC_OBJECTIVES, SUSTAINABILITY, TITLES,
};

/// How many proposals a researcher leads, on average.
const PROPOSALS_OF_A_RESEARCHER: u64 = 20;

/// The standard deviation of the logarithm of the size. The 95th percentile lies 1.645 of it above
/// the median: 4 times as high.
const SPREAD: f64 = 0.8427;

/// More than a request body may have by default, no client could have sent.
const LARGEST: f64 = 8.0 * 1024.0 * 1024.0;

/// What a text must have room for to be written at all.
const SHORTEST_TEXT: usize = 50;

/// What the fields after the long texts take together, and the names and quotes of those.
const REST: usize = 420;

/// Types of proposals with the types of research that go with them, as often as they occur in ten.
const TYPES: [(&str, &[&str]); 10] = [
    ("R&D Project", &["Basic", "Applied", "Applied"]),
    ("R&D Project", &["Basic", "Applied", "Applied"]),
    ("R&D Project", &["Applied"]),
    ("R&D Project", &["Applied"]),
    ("R&D Project", &["Pilot Testing"]),
    ("R&D Program", &["Basic", "Applied"]),
    ("Non-R&D Project", &["S&T Promotion"]),
    ("Non-R&D Project", &["S&T Promotion"]),
    ("Non-R&D Program", &["S&T Promotion"]),
    ("Startup R&D Project", &["Pilot Testing", "Pre-commercialization"]),
];

/// A field that holds prose.
struct Section {
    name: &'static str,
    /// Its part of the prose, in no unit: only the proportions count.
    share: usize,
    /// How many of a hundred proposals have it.
    presence: u8,
    sentences: &'static [&'static str],
}

const fn section(
    name: &'static str,
    share: usize,
    presence: u8,
    sentences: &'static [&'static str],
) -> Section {
    Section { name, share, presence, sentences }
}

/// The prose, in the order of the fields.
const SECTIONS: [Section; 10] = [
    section("project_description", 70, 92, BACKGROUND),
    section("description", 75, 90, BACKGROUND),
    section("significance", 95, 92, BACKGROUND),
    section("literature", 310, 95, BACKGROUND),
    section("methodology", 270, 100, METHODS),
    section("sustainability", 35, 85, SUSTAINABILITY),
    section("outcomes", 40, 90, OUTCOMES),
    section("social_impact", 35, 85, SOCIAL_IMPACTS),
    section("economic_impact", 40, 85, ECONOMIC_IMPACTS),
    section("limitations", 25, 75, LIMITATIONS),
];

/// The objectives come before this one.
const AFTER_THE_OBJECTIVES: &str = "significance";

/// What proposals are made by.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Which of all possible sets is made.
    pub seed: u64,
    /// How many proposals the set has.
    pub proposals: u64,
    /// The bytes that half of them stay below.
    pub median_size: usize,
}

impl Recipe {
    /// What the proposal with this number is about.
    pub fn study(&self, number: u64) -> Study {
        Study::draw(&mut of_row(self.seed, number, 0))
    }

    /// The JSON text of the proposal with this number.
    pub fn proposal(&self, number: u64) -> String {
        let study = self.study(number);
        let mut random = of_row(self.seed, number, u64::MAX);
        let size = size(&mut random, self.median_size);
        let mut object = Object::with_capacity(size + size / 16);
        let (proposal_type, research_types) = pick(&mut random, &TYPES);
        self.head(
            &mut object,
            &mut Prose { study: &study, random: &mut random },
            number,
            proposal_type,
        );
        write_prose(&mut object, &mut Prose { study: &study, random: &mut random }, size);
        if happens(&mut random, 92) {
            object.text("research_type", pick(&mut random, research_types));
        }
        object.text("researcher_id", &self.researcher(&mut random));
        if happens(&mut random, 95) {
            object.texts("implementation_sites", &study.sites);
        }
        object.finish()
    }

    fn head(&self, object: &mut Object, prose: &mut Prose<'_>, number: u64, proposal_type: &str) {
        let year = prose.study.year;
        let (start, end) = dates(prose.random, year);
        if happens(prose.random, 95) {
            object.text("start_date", &start.to_string());
            if happens(prose.random, 95) {
                object.text("end_date", &end.to_string());
            }
        }
        object.text("proposal_type", proposal_type);
        if happens(prose.random, 60) {
            object.text("program_id", &format!("PRG-{year}-{:03}", prose.random.u16(1..=120)));
        }
        // The seed keeps sets apart that are loaded into one store.
        object.text("project_id", &format!("PRJ-{year}-{}-{:07}", self.seed, number + 1));
        object.text("project_title", &prose.sentence(TITLES));
    }

    fn researcher(&self, random: &mut Rng) -> String {
        let researchers = (self.proposals / PROPOSALS_OF_A_RESEARCHER).max(1);
        format!("R-{:05}", random.u64(1..=researchers))
    }
}

/// A size from the log-normal distribution with this median.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole positive number below LARGEST"
)]
fn size(random: &mut Rng, median: usize) -> usize {
    (median as f64 * (SPREAD * normal(random)).exp()).min(LARGEST) as usize
}

/// Projects start on the first of a month and last whole months.
fn dates(random: &mut Rng, year: i16) -> (Date, Date) {
    let first = random.i8(1..=12);
    // Counted from January of the first year, which is 0.
    let last = first - 2 + pick(random, &[6, 12, 12, 18, 24, 24, 24, 36, 36, 48]);
    (date(year, first, 1), date(year + i16::from(last / 12), last % 12 + 1, 1).last_of_month())
}

/// All long texts, so that the whole proposal comes to about `size` bytes.
fn write_prose(object: &mut Object, prose: &mut Prose<'_>, size: usize) {
    let objectives = Objectives::make(prose);
    let room = size.saturating_sub(object.len() + objectives.len() + REST);
    let present = SECTIONS.map(|section| happens(prose.random, section.presence));
    let shares: usize = SECTIONS
        .iter()
        .zip(present)
        .filter(|(_, is_present)| *is_present)
        .map(|(section, _)| section.share)
        .sum();
    let markup = if happens(prose.random, 6) { &PASTED } else { &PLAIN };
    for (section, is_present) in SECTIONS.iter().zip(present) {
        if section.name == AFTER_THE_OBJECTIVES {
            objectives.write(object);
        }
        let length = room * section.share / shares;
        if is_present && length >= SHORTEST_TEXT {
            object.text(section.name, &prose.paragraphs(section.sentences, length, markup));
        }
    }
}

/// What the project is to achieve.
struct Objectives {
    general: String,
    specific: Vec<String>,
    is_list: bool,
}

impl Objectives {
    fn make(prose: &mut Prose<'_>) -> Self {
        let count = prose.random.usize(2..=5);
        Self {
            general: prose.sentence(GENERAL_OBJECTIVES),
            specific: (0..count).map(|_| prose.sentence(SPECIFIC_OBJECTIVES)).collect(),
            is_list: happens(prose.random, 50),
        }
    }

    fn len(&self) -> usize {
        self.general.len() + self.specific.iter().map(String::len).sum::<usize>()
    }

    /// Some forms have a line for each specific objective, others one box for all.
    fn write(&self, object: &mut Object) {
        object.text("general_objective", &self.general);
        if self.is_list {
            object.texts("specific_objectives", &self.specific);
        } else {
            let numbered: Vec<_> = self
                .specific
                .iter()
                .enumerate()
                .map(|(index, one)| format!("{}. {one}", index + 1))
                .collect();
            object.text("specific_objectives", &numbered.join("\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::proposal::fields::FIELDS;
    use domain::{Members, Proposal, Resource as _};

    use super::Recipe;

    fn recipe(seed: u64, median_size: usize) -> Recipe {
        Recipe { seed, proposals: 400, median_size }
    }

    fn read(text: &str) -> Members {
        Members::read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn every_proposal_is_valid_and_written_as_it_is_kept() {
        for seed in 0..400 {
            let text = recipe(seed, 4 << 10).proposal(seed);
            let judged = Proposal::judge(None, read(&text))
                .unwrap_or_else(|faults| panic!("{faults:?} in {text}"));
            assert_eq!(judged.into_members().encoded(), text);
            assert!(
                !text.contains(['\u{fffd}']) && text.matches(['{', '}']).count() == 2,
                "a slot was left open: {text}"
            );
        }
    }

    #[test]
    fn together_they_have_all_fields_and_each_in_the_order_of_the_table() {
        let order: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
        let mut seen = BTreeSet::new();
        for number in 0..100 {
            let members = read(&recipe(0, 22 << 10).proposal(number));
            let places: Vec<_> = members
                .iter()
                .map(|(name, _)| order.iter().position(|field| *field == name).unwrap())
                .collect();
            assert!(places.is_sorted(), "{places:?}");
            seen.extend(places);
        }
        assert_eq!(seen.len(), order.len());
    }

    #[test]
    fn sizes_spread_around_the_wanted_median() {
        for median in [2 << 10, 22 << 10, 64 << 10] {
            let mut sizes: Vec<_> =
                (0..400).map(|number| recipe(7, median).proposal(number).len()).collect();
            sizes.sort_unstable();
            let (middle, high) = (sizes[200], sizes[380]);
            assert!(
                (median * 3 / 4..=median * 5 / 4).contains(&middle),
                "a median of {middle} where {median} was wanted"
            );
            assert!(
                (middle * 3..=middle * 5).contains(&high),
                "a 95th percentile of {high} above a median of {middle}"
            );
        }
    }

    #[test]
    fn a_seed_always_gives_the_same_proposals_and_another_seed_others() {
        for number in [0, 1, 399] {
            assert_eq!(recipe(3, 9000).proposal(number), recipe(3, 9000).proposal(number));
            assert_ne!(recipe(3, 9000).proposal(number), recipe(4, 9000).proposal(number));
            assert_ne!(recipe(3, 9000).proposal(number), recipe(3, 9000).proposal(number + 1));
        }
    }

    #[test]
    fn project_ids_are_all_different_and_researchers_lead_about_twenty_each() {
        let proposals: Vec<_> =
            (0..400).map(|number| read(&recipe(1, 1 << 10).proposal(number))).collect();
        let values = |name: &str| {
            proposals
                .iter()
                .map(|members| members.get(name).unwrap().encoded().to_owned())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(values("project_id").len(), 400);
        let researchers = values("researcher_id");
        assert!(researchers.len() == 20 && researchers.contains("\"R-00020\""), "{researchers:?}");
    }
}
