//! Generator of items. Each depends only on its number and the seed, not on the order.

use std::collections::HashMap;
use std::sync::LazyLock;

use domain::ItemId;
use fastrand::Rng;
use jiff::ToSpan as _;
use jiff::civil::date;
use serde_json::{Value, json};

const PROPOSALS_OF_A_PROGRAM: u64 = 50;
const MOST_PROGRAMS: u64 = 1_000;

/// Durations of proposals. A programme takes 60 months, and its proposals begin in the first 24.
const MONTHS: [i32; 8] = [6, 12, 12, 18, 24, 24, 36, 36];

const PROPOSALS_OF_A_RESEARCHER: u64 = 20;

/// Standard deviation of the logarithm of the size. The 95th percentile is 1.645 of it above the
/// median: 4 times as large.
const SPREAD: f64 = 0.8427;

/// Default limit of a request body.
const LARGEST: f64 = 8.0 * 1024.0 * 1024.0;

const REST: usize = 800;

const SHORTEST: usize = 50;

/// Average excess of a string over its length, in bytes.
const HALF_A_SENTENCE: usize = 45;

/// Words, sentences and items of the list, by kind. Angle brackets mark a slot. A section is the
/// name of a long string with its share of a proposal.
static WORDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut words = HashMap::<_, Vec<_>>::new();
    for (kind, list) in include_str!("words.txt").lines().filter_map(|line| line.split_once(": ")) {
        words.entry(kind).or_default().extend(list.split("; "));
    }
    words
});

/// Collections whose items name a proposal, with their kind of words and the naming member.
pub const CHILDREN: [(&str, &str, &str); 4] = [
    ("files", "file", "proposal_id"),
    ("gadscores", "score", "proposal_id"),
    ("status", "status", "subject"),
    ("cashprogram", "cash", "proposal_id"),
];

#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub seed: u64,
    pub proposals: u64,
    pub median_size: usize,
}

impl Recipe {
    pub fn program(&self, number: u64) -> Value {
        self.study(u64::MAX, number).item("program")
    }

    pub fn library_item(&self, proposal: u64, number: u64) -> Value {
        let mut study = self.study(proposal, number + 1);
        let kind = if study.happens(40) { "reference" } else { "line_item" };
        study.item(kind)
    }

    pub fn programs(&self) -> u64 {
        self.proposals.div_ceil(PROPOSALS_OF_A_PROGRAM).min(MOST_PROGRAMS)
    }

    /// Returns the status codes in the order of a proposal's life cycle.
    pub fn status_codes() -> impl Iterator<Item = Value> {
        WORDS["status_code"].iter().map(|code| serde_json::from_str(code).unwrap_or_default())
    }

    /// Makes an item that names the proposal in a member.
    pub fn child(&self, number: u64, proposal: ItemId, (kind, member): (&str, &str)) -> Value {
        let (mut study, _) = self.study_of_proposal(number);
        let mut child = study.item(kind);
        child[member] = json!(proposal.to_string());
        child
    }

    /// Proposals of a programme begin in its first two years.
    fn study_of_proposal(&self, number: u64) -> (Study, Option<u64>) {
        let mut study = self.study(number, 0);
        let program = study.random.u64(..self.programs());
        let program = study.happens(60).then_some(program);
        if let Some(number) = program {
            study.year = self.study(u64::MAX, number).year + study.random.i16(0..=1);
        }
        (study, program)
    }

    pub fn proposal(&self, number: u64, programs: &[ItemId]) -> Value {
        let (mut study, program) = self.study_of_proposal(number);
        let (size, year) = (self.size(&mut study.random), study.year);
        let start = date(year, study.random.i8(1..=12), 1);
        let months = study.random.choice(MONTHS).unwrap_or(12);
        let end = start.saturating_add(months.months()).saturating_sub(1.day());
        let (proposal_type, research_type) = study.word("type").split_once('/').unwrap_or_default();
        let program = program.and_then(|it| programs.get(usize::try_from(it).ok()?));
        let program = program.map(ItemId::to_string);
        let objectives = [(); 3].map(|()| study.sentence("objective"));
        // Some forms have a line per objective, others one box for all.
        let objectives =
            if study.happens(50) { json!(objectives) } else { json!(objectives.join("\n")) };
        let members = [
            ("start_date", 95, json!(start.to_string())),
            ("end_date", 90, json!(end.to_string())),
            ("proposal_type", 100, json!(proposal_type)),
            ("research_type", 92, json!(research_type)),
            ("program_id", if program.is_some() { 100 } else { 0 }, json!(program)),
            // The seed separates sets in one store.
            ("project_id", 100, json!(format!("PRJ-{year}-{}-{:07}", self.seed, number + 1))),
            ("project_title", 100, json!(study.title)),
            ("general_objective", 100, json!(study.sentence("objective"))),
            ("specific_objectives", 100, objectives),
            ("researcher_id", 100, json!(study.researcher)),
            ("implementation_sites", 95, json!(study.sites)),
        ];
        let members = members.into_iter().filter(|(_, percent, _)| study.happens(*percent));
        let mut members: Vec<_> = members.map(|(name, _, value)| (name, value)).collect();
        let sections: Vec<(_, usize)> = WORDS["section"]
            .iter()
            .filter(|_| study.happens(88))
            .filter_map(|section| section.split_once('/'))
            .map(|(name, share)| (name, share.parse().unwrap_or_default()))
            .collect();
        let total: usize = sections.iter().map(|(_, share)| share).sum();
        for (name, share) in sections {
            let length = size.saturating_sub(REST) * share / total;
            if length >= SHORTEST {
                members.push((name, study.paragraphs(length).into()));
            }
        }
        members.into_iter().collect()
    }

    fn study(&self, proposal: u64, item: u64) -> Study {
        let seeded = Rng::with_seed(self.seed);
        let mut random = [proposal, item]
            .into_iter()
            .fold(seeded, |mut random, number| Rng::with_seed(random.u64(..) ^ number));
        let researchers = (self.proposals / PROPOSALS_OF_A_RESEARCHER).max(1);
        let researcher = format!("R-{:05}", random.u64(1..=researchers));
        let mut study = Study { random, researcher, ..Study::default() };
        study.year = study.random.i16(2016..=2027);
        (study.topic, study.measure) = (study.word("topic"), study.word("measure"));
        study.sites = (0..study.random.u8(1..=4)).map(|_| study.word("place")).collect();
        study.title = study.sentence("title");
        study
    }

    /// Draws from a log-normal distribution (Box-Muller transform).
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
}

#[derive(Default)]
struct Study {
    random: Rng,
    researcher: String,
    topic: &'static str,
    measure: &'static str,
    title: String,
    sites: Vec<&'static str>,
    year: i16,
}

impl Study {
    fn happens(&mut self, percent: u8) -> bool {
        self.random.u8(..100) < percent
    }

    fn word(&mut self, kind: &str) -> &'static str {
        let words = &WORDS[kind];
        words[self.random.usize(..words.len())]
    }

    fn item(&mut self, kind: &str) -> Value {
        serde_json::from_str(&self.sentence(kind)).unwrap_or_default()
    }

    fn paragraphs(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length + 4 * HALF_A_SENTENCE);
        for count in 1.. {
            out.push_str(&self.sentence("sentence"));
            if out.len() + HALF_A_SENTENCE >= length {
                break;
            }
            out.push_str(if count % 5 == 0 { "\n\n" } else { " " });
        }
        out
    }

    /// Returns a sentence. Every second piece of its template is a slot.
    fn sentence(&mut self, kind: &str) -> String {
        let mut out = String::with_capacity(160);
        for (index, piece) in self.word(kind).split(['<', '>']).enumerate() {
            match piece {
                _ if index % 2 == 0 => out.push_str(piece),
                "topic" => out.push_str(self.topic),
                "measure" => out.push_str(self.measure),
                "title" => out.push_str(&self.title),
                "place" => out.push_str(self.sites[self.random.usize(..self.sites.len())]),
                "year" => out.push_str(&self.year.to_string()),
                "earlier" => out.push_str(&(self.year - self.random.i16(1..=14)).to_string()),
                "small" => out.push_str(&self.random.u8(2..=12).to_string()),
                "count" => out.push_str(&self.random.u16(30..=600).to_string()),
                "researcher" => out.push_str(&self.researcher),
                "objective" | "sentence" => out.push_str(&self.sentence(piece)),
                kind => out.push_str(self.word(kind)),
            }
        }
        if let Some(first) = out.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::proposal::FIELDS;
    use domain::{Collection, ItemId, Members};
    use jiff::ToSpan as _;
    use jiff::civil::Date;

    use super::{CHILDREN, Recipe, Value};

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
            Collection::known("proposals").judge(None, members(&proposal)).unwrap();
            let mut strings: Vec<_> = proposal.as_object().unwrap().values().cloned().collect();
            let own = [
                ("proposedprograms", recipe.program(seed)),
                ("lib", recipe.library_item(seed, seed)),
            ];
            let [id] = programs();
            let child = |(name, kind, member)| (name, recipe.child(seed, id, (kind, member)));
            let codes = Recipe::status_codes().map(|code| ("statuses", code));
            for (collection, item) in own.into_iter().chain(CHILDREN.map(child)).chain(codes) {
                Collection::known(collection).judge(None, members(&item)).unwrap();
                strings.extend(item.as_object().unwrap().values().cloned());
            }
            let strings = strings.iter().filter_map(Value::as_str);
            assert!(strings.into_iter().all(|string| !string.contains(['<', '>'])));
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
    fn proposals_are_inside_the_dates_of_their_programme() {
        let recipe = recipe(1, 1 << 10);
        let ids: Vec<_> = (0..recipe.programs())
            .map(|number| ItemId::parse(&format!("01890a5d-ac96-774b-bcce-{number:012}")).unwrap())
            .collect();
        let date = |value: &Value| value.as_str().map(|text| text.parse::<Date>().unwrap());
        let mut compared = 0;
        for proposal in (0..400).map(|number| recipe.proposal(number, &ids)) {
            let named = |id: &ItemId| proposal["program_id"] == id.to_string();
            let Some(number) = ids.iter().position(named) else { continue };
            let start = date(&recipe.program(number as u64)["start_date"]).unwrap();
            let inside = start..start.saturating_add(60.months());
            for date in ["start_date", "end_date"].iter().filter_map(|name| date(&proposal[name])) {
                assert!(inside.contains(&date), "{proposal}");
                compared += 1;
            }
        }
        assert!(compared > 300, "{compared}");
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
