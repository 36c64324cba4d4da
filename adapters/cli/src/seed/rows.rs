//! Makes items: each follows from its number and the seed alone, in whatever order they are made.

use std::collections::HashMap;
use std::sync::LazyLock;

use domain::ItemId;
use fastrand::Rng;
use jiff::ToSpan as _;
use jiff::civil::date;
use serde_json::{Map, Value, json};

/// The average number of proposals a researcher leads.
const PROPOSALS_OF_A_RESEARCHER: u64 = 20;

/// The standard deviation of the logarithm of the size. The 95th percentile lies 1.645 of it above
/// the median: 4 times as high.
const SPREAD: f64 = 0.8427;

/// No client could have sent more than a request body may have by default.
const LARGEST: f64 = 8.0 * 1024.0 * 1024.0;

/// The bytes of a proposal beside its long strings.
const REST: usize = 800;

/// A long string is left out if it would be shorter than this.
const SHORTEST: usize = 50;

/// The average bytes of half a sentence: a string may exceed its length by so many.
const HALF_A_SENTENCE: usize = 45;

const SENTENCES_OF_A_PARAGRAPH: usize = 5;

/// The long strings: their shares of the proposal, and the percentage of proposals that have them.
const SECTIONS: [(&str, usize, u8); 10] = [
    ("project_description", 70, 92),
    ("description", 75, 90),
    ("significance", 95, 92),
    ("literature", 310, 95),
    ("methodology", 270, 100),
    ("sustainability", 35, 85),
    ("outcomes", 40, 90),
    ("social_impact", 35, 85),
    ("economic_impact", 40, 85),
    ("limitations", 25, 75),
];

/// The objectives come before this section.
const AFTER_THE_OBJECTIVES: &str = "significance";

/// Types of proposals, with types of research.
const TYPES: [(&str, &str); 6] = [
    ("R&D Project", "Basic"),
    ("R&D Project", "Applied"),
    ("R&D Project", "Pilot Testing"),
    ("R&D Program", "Applied"),
    ("Non-R&D Project", "S&T Promotion"),
    ("Startup R&D Project", "Pre-commercialization"),
];

/// Purchases: expense class, title, unit, and the least and the greatest cost in pesos.
const PURCHASES: [(&str, &str, &str, u64, u64); 6] = [
    ("PS", "Project technical assistant", "month", 18_000, 52_000),
    ("PS", "Science research specialist", "month", 25_000, 60_000),
    ("MOOE", "Local travel", "lot", 5_000, 40_000),
    ("MOOE", "Laboratory chemicals", "pc", 100, 3_500),
    ("MOOE", "Training materials", "lot", 2_000, 20_000),
    ("EO", "Field spectrometer", "unit", 50_000, 900_000),
];

/// The words and sentences of made-up items, by kind. A kind in braces is a slot of a sentence.
static WORDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut words = HashMap::<_, Vec<_>>::new();
    for (kind, list) in include_str!("words.txt").lines().filter_map(|line| line.split_once(": ")) {
        words.entry(kind).or_default().extend(list.split("; "));
    }
    words
});

/// The parameters of a set of items.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Selects one of all possible sets.
    pub seed: u64,
    /// The number of proposals.
    pub proposals: u64,
    /// Half of the proposals are smaller, in bytes.
    pub median_size: usize,
}

impl Recipe {
    /// Returns the members of a programme.
    pub fn program(&self, number: u64) -> Value {
        let mut study = Study::new(self.rng(u64::MAX, number));
        json!({
            "title": study.sentence("title"),
            "leader_id": self.researcher(&mut study.random),
            "agency": study.word("agency"),
            "summary": study.sentence("objective"),
            "start_date": format!("{}-01-01", study.year),
            "duration_months": study.pick(&[24, 36, 48]),
            "budget_total": format!("{}.00 PHP", study.random.u64(5..=90) * 500_000),
        })
    }

    /// Returns the members of a proposal, which may name one of the programmes.
    pub fn proposal(&self, number: u64, programs: &[ItemId]) -> Value {
        let mut study = Study::new(self.rng(number, 0));
        let size = self.size(&mut study.random);
        let mut members = Map::new();
        self.push_head(&mut members, &mut study, number, programs);
        push_sections(&mut members, &mut study, size);
        members.insert("researcher_id".into(), self.researcher(&mut study.random).into());
        if study.happens(95) {
            members.insert("implementation_sites".into(), study.sites.clone().into());
        }
        members.into()
    }

    fn push_head(
        &self,
        members: &mut Map<String, Value>,
        study: &mut Study,
        number: u64,
        programs: &[ItemId],
    ) {
        let year = study.year;
        let start = date(year, study.random.i8(1..=12), 1);
        let months: i32 = study.pick(&[6, 12, 12, 18, 24, 24, 36, 48]);
        let end = start.saturating_add(months.months()).saturating_sub(1.day());
        let (proposal_type, research_type) = study.pick(&TYPES);
        let program = study.random.choice(programs).map(ItemId::to_string);
        for (name, percent, value) in [
            ("start_date", 95, Value::from(start.to_string())),
            ("end_date", 90, end.to_string().into()),
            ("proposal_type", 100, proposal_type.into()),
            ("research_type", 92, research_type.into()),
            ("program_id", if program.is_some() { 60 } else { 0 }, program.into()),
            // The seed keeps sets apart that are loaded into one store.
            ("project_id", 100, format!("PRJ-{year}-{}-{:07}", self.seed, number + 1).into()),
            ("project_title", 100, study.sentence("title").into()),
        ] {
            if study.happens(percent) {
                members.insert(name.into(), value);
            }
        }
    }

    /// Returns the members of a library item: a reference as CSL-JSON, or the line item of a budget.
    pub fn library_item(&self, proposal: u64, number: u64) -> Value {
        let mut study = Study::new(self.rng(proposal, number + 1));
        if study.happens(40) { reference(&mut study) } else { line_item(&mut study) }
    }

    fn researcher(&self, random: &mut Rng) -> String {
        let researchers = (self.proposals / PROPOSALS_OF_A_RESEARCHER).max(1);
        format!("R-{:05}", random.u64(1..=researchers))
    }

    /// A size from the log-normal distribution with the median (Box and Muller's transform).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole positive number below LARGEST"
    )]
    fn size(&self, random: &mut Rng) -> usize {
        // In (0, 1]: zero has no logarithm.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.f64()).cos();
        (self.median_size as f64 * (SPREAD * normal).exp()).min(LARGEST) as usize
    }

    fn rng(&self, proposal: u64, item: u64) -> Rng {
        [proposal, item].into_iter().fold(Rng::with_seed(self.seed), |mut random, number| {
            Rng::with_seed(random.u64(..) ^ number)
        })
    }
}

/// The long strings and the objectives, so that the whole proposal takes about `size` bytes.
fn push_sections(members: &mut Map<String, Value>, study: &mut Study, size: usize) {
    let room = size.saturating_sub(REST);
    let present = SECTIONS.map(|(.., percent)| study.happens(percent));
    let shares = SECTIONS.iter().zip(present).filter(|(_, is_present)| *is_present);
    let total: usize = shares.map(|((_, share, _), _)| share).sum();
    for ((name, share, _), is_present) in SECTIONS.into_iter().zip(present) {
        if name == AFTER_THE_OBJECTIVES {
            members.insert("general_objective".into(), study.sentence("objective").into());
            let specific: Vec<_> = (0..3).map(|_| study.sentence("objective")).collect();
            // Some forms have a line for each specific objective, others one box for all.
            let specific: Value =
                if study.happens(50) { specific.into() } else { specific.join("\n").into() };
            members.insert("specific_objectives".into(), specific);
        }
        let length = room * share / total;
        if is_present && length >= SHORTEST {
            members.insert(name.into(), study.paragraphs(length).into());
        }
    }
}

fn reference(study: &mut Study) -> Value {
    let (title, year) = (study.sentence("title"), study.year - study.random.i16(1..=14));
    let page = study.random.u16(1..=400);
    let authors: Vec<_> = (0..study.random.u8(1..=4))
        .map(|_| json!({"family": study.word("name"), "given": "A."}))
        .collect();
    json!({
        "item_kind": "reference",
        "title": title,
        "csl": {
            "type": "article-journal",
            "title": title,
            "author": authors,
            "container-title": "Philippine Journal of Science",
            "volume": study.random.u8(1..=120).to_string(),
            "issue": study.random.u8(1..=4).to_string(),
            "page": format!("{page}–{}", page + study.random.u16(4..=20)),
            "issued": {"date-parts": [[year]]},
            // The prefix of the DOI is the one that is reserved for examples.
            "DOI": format!("10.5555/{year}.{:06}", study.random.u32(..1_000_000)),
        },
    })
}

fn line_item(study: &mut Study) -> Value {
    let (class, title, unit, least, most) = study.pick(&PURCHASES);
    let quantity = study.random.u64(1..=if class == "EO" { 3 } else { 24 });
    let centavos = study.random.u64(least * 100..=most * 100) * quantity;
    json!({
        "item_kind": "line_item",
        "title": title,
        "expense_class": class,
        "cost_type": if study.happens(85) { "direct" } else { "indirect" },
        "year_no": study.random.u8(1..=3),
        "quantity": quantity,
        "unit": unit,
        "amount": format!("{}.{:02}", centavos / 100, centavos % 100),
        "currency": "PHP",
        "fund_source": study.pick(&["grant", "counterpart"]),
        "justification": study.sentence("sentence"),
    })
}

/// The subject of an item, to which its prose keeps, and its random numbers.
struct Study {
    random: Rng,
    topic: &'static str,
    measure: &'static str,
    sites: Vec<&'static str>,
    year: i16,
}

impl Study {
    fn new(random: Rng) -> Self {
        let mut study = Self { random, topic: "", measure: "", sites: Vec::new(), year: 0 };
        study.year = study.random.i16(2016..=2027);
        (study.topic, study.measure) = (study.word("topic"), study.word("measure"));
        study.sites = (0..study.random.u8(1..=4)).map(|_| study.word("place")).collect();
        study
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.usize(..choices.len())]
    }

    fn word(&mut self, kind: &str) -> &'static str {
        self.pick(&WORDS[kind])
    }

    fn happens(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    fn sentence(&mut self, kind: &str) -> String {
        let mut out = String::with_capacity(160);
        self.push_sentence(kind, &mut out);
        out
    }

    /// Paragraphs of about `length` bytes, of one sentence at least.
    fn paragraphs(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length + 4 * HALF_A_SENTENCE);
        for count in 1.. {
            self.push_sentence("sentence", &mut out);
            if out.len() + HALF_A_SENTENCE >= length {
                break;
            }
            out.push_str(if count % SENTENCES_OF_A_PARAGRAPH == 0 { "\n\n" } else { " " });
        }
        out
    }

    /// Slots are in braces, so every second piece of a sentence is one.
    fn push_sentence(&mut self, kind: &str, out: &mut String) {
        let start = out.len();
        for (index, piece) in self.word(kind).split(['{', '}']).enumerate() {
            match piece {
                _ if index % 2 == 0 => out.push_str(piece),
                "topic" => out.push_str(self.topic),
                "measure" => out.push_str(self.measure),
                "place" => out.push_str(self.sites[self.random.usize(..self.sites.len())]),
                "author" => {
                    let (name, year) = (self.word("name"), self.year - self.random.i16(1..=14));
                    out.extend([name, " et al. (", &year.to_string(), ")"]);
                }
                "small" => out.push_str(&self.random.u8(2..=12).to_string()),
                "count" => out.push_str(&self.random.u16(30..=600).to_string()),
                kind => out.push_str(self.word(kind)),
            }
        }
        if let Some(first) = out.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::proposal::FIELDS;
    use domain::{Document, ItemId, Members, Proposal, Resource as _};

    use super::{Recipe, Value};

    fn recipe(seed: u64, median_size: usize) -> Recipe {
        Recipe { seed, proposals: 400, median_size }
    }

    fn programs() -> [ItemId; 1] {
        [ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8010").unwrap()]
    }

    fn members(value: &Value) -> Members {
        Members::read(value.to_string().as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn every_item_is_valid_and_no_slot_is_left_open() {
        for seed in 0..300 {
            let recipe = recipe(seed, 4 << 10);
            let proposal = recipe.proposal(seed, &programs());
            Proposal::judge(None, members(&proposal)).unwrap();
            let mut strings: Vec<_> = proposal.as_object().unwrap().values().cloned().collect();
            for item in [recipe.program(seed), recipe.library_item(seed, seed)] {
                Document::judge(None, members(&item)).unwrap();
                strings.extend(item.as_object().unwrap().values().cloned());
            }
            let strings = strings.iter().filter_map(Value::as_str);
            assert!(strings.into_iter().all(|string| !string.contains(['{', '}'])));
        }
    }

    #[test]
    fn together_proposals_have_all_fields() {
        let proposals = (0..100).map(|number| recipe(0, 22 << 10).proposal(number, &programs()));
        let found: BTreeSet<_> = proposals
            .flat_map(|proposal| proposal.as_object().unwrap().clone())
            .map(|(name, _)| name)
            .collect();
        assert_eq!(found, FIELDS.iter().map(|field| field.name.to_owned()).collect());
    }

    #[test]
    fn sizes_spread_around_the_median() {
        for median in [2 << 10, 22 << 10, 64 << 10] {
            let length = |number| recipe(7, median).proposal(number, &programs()).to_string().len();
            let mut sizes: Vec<_> = (0..400).map(length).collect();
            sizes.sort_unstable();
            let (middle, high) = (sizes[200], sizes[380]);
            assert!((median * 3 / 4..=median * 5 / 4).contains(&middle), "{middle} for {median}");
            assert!((middle * 3..=middle * 5).contains(&high), "{high} above {middle}");
        }
        let length = |number| recipe(7, 1 << 10).library_item(1, number).to_string().len();
        let mut sizes: Vec<_> = (0..400).map(length).collect();
        sizes.sort_unstable();
        assert!(sizes[20] >= 280 && sizes[380] <= 640, "{} to {}", sizes[20], sizes[380]);
    }

    #[test]
    fn a_seed_always_gives_the_same_items_and_another_seed_others() {
        let items = |seed, number| {
            let recipe = recipe(seed, 9_000);
            let (program, item) = (recipe.program(number), recipe.library_item(number, 1));
            [recipe.proposal(number, &programs()), program, item]
        };
        assert_eq!(items(3, 1), items(3, 1));
        for other in [items(4, 1), items(3, 2)] {
            assert!(items(3, 1).iter().zip(&other).all(|(one, other)| one != other));
        }
    }

    #[test]
    fn project_ids_are_all_different_and_researchers_lead_about_twenty_each() {
        let proposals: Vec<_> =
            (0..400).map(|number| recipe(1, 1 << 10).proposal(number, &[])).collect();
        let values = |name: &str| {
            proposals.iter().map(|proposal| proposal[name].to_string()).collect::<BTreeSet<_>>()
        };
        assert_eq!(values("project_id").len(), 400);
        let researchers = values("researcher_id");
        assert!(researchers.len() == 20 && researchers.contains("\"R-00020\""), "{researchers:?}");
    }
}
