//! Made-up library items: references as CSL-JSON, and the line items of a budget.

use super::object::Object;
use super::proposals::Recipe;
use super::prose::{Prose, Study};
use super::random::{happens, of_row, pick};
use super::sentences::{JUSTIFICATIONS, TITLES};
use super::words::{
    COMMON_EXPENSES, FAMILY_NAMES, FUND_SOURCES, GIVEN_NAMES, MUNICIPALITIES, POSITIONS,
};

/// What an item takes, so that its text is not moved while it is written.
const USUAL_SIZE: usize = 768;

/// How many of a hundred items are references; the others are line items.
const REFERENCES: u8 = 40;

impl Recipe {
    /// The JSON text of a library item of the proposal with this number.
    pub fn library_item(&self, proposal: u64, number: u64) -> String {
        let study = self.study(proposal);
        let mut random = of_row(self.seed, proposal, number + 1);
        let is_reference = happens(&mut random, REFERENCES);
        let mut prose = Prose { study: &study, random: &mut random };
        if is_reference { reference(&mut prose) } else { line_item(&mut prose) }
    }
}

fn reference(prose: &mut Prose<'_>) -> String {
    let title = prose.sentence(TITLES);
    let mut object = Object::with_capacity(USUAL_SIZE);
    object.text("item_kind", "reference");
    object.text("title", &title);
    object.json("csl", csl(prose, &title));
    object.finish()
}

/// CSL-JSON as reference managers export it. The prefix of the DOI is the one that is reserved for
/// examples.
fn csl(prose: &mut Prose<'_>, title: &str) -> String {
    let year = prose.earlier_year();
    let page = prose.random.u16(1..=400);
    let mut csl = Object::with_capacity(USUAL_SIZE);
    csl.text("type", "article-journal");
    csl.text("title", title);
    csl.json("author", authors(prose));
    csl.text("container-title", pick(prose.random, prose.study.discipline.journals));
    csl.text("volume", &prose.random.u8(1..=120).to_string());
    csl.text("issue", &prose.random.u8(1..=4).to_string());
    csl.text("page", &format!("{page}–{}", page + prose.random.u16(4..=20)));
    csl.json("issued", format_args!(r#"{{"date-parts":[[{year}]]}}"#));
    csl.text("DOI", &format!("10.5555/{year}.{:06}", prose.random.u32(..1_000_000)));
    csl.finish()
}

fn authors(prose: &mut Prose<'_>) -> String {
    let count = pick(prose.random, &[1, 2, 2, 3, 4]);
    let authors: Vec<_> = (0..count)
        .map(|_| {
            let mut author = Object::with_capacity(64);
            author.text("family", pick(prose.random, FAMILY_NAMES));
            author.text("given", pick(prose.random, GIVEN_NAMES));
            author.finish()
        })
        .collect();
    format!("[{}]", authors.join(","))
}

/// What is bought: an expense class, the names of what it pays for, and what one of them costs at
/// least and at most, in pesos.
fn purchase(prose: &mut Prose<'_>) -> (&'static str, String, &'static str, u32) {
    let Study { discipline, sites, .. } = prose.study;
    let site = sites.first().unwrap_or(&MUNICIPALITIES[0]);
    let random = &mut *prose.random;
    match random.u8(..10) {
        0..3 => {
            ("PS", pick(random, POSITIONS).to_owned(), "month", random.u32(880_000..=5_200_000))
        }
        3..6 => (
            "MOOE",
            format!("{}, {site}", pick(random, COMMON_EXPENSES)),
            "lot",
            random.u32(500_000..=4_000_000),
        ),
        6..9 => (
            "MOOE",
            pick(random, discipline.supplies).to_owned(),
            "pc",
            random.u32(2_500..=350_000),
        ),
        _ => (
            "EO",
            pick(random, discipline.equipment).to_owned(),
            "unit",
            random.u32(5_000_000..=90_000_000),
        ),
    }
}

fn line_item(prose: &mut Prose<'_>) -> String {
    let (expense_class, title, unit, centavos) = purchase(prose);
    let quantity =
        if expense_class == "EO" { prose.random.u32(1..=3) } else { prose.random.u32(1..=24) };
    let amount = u64::from(centavos) * u64::from(quantity);
    let mut object = Object::with_capacity(USUAL_SIZE);
    object.text("item_kind", "line_item");
    object.text("title", &title);
    object.text("expense_class", expense_class);
    object.text("cost_type", if happens(prose.random, 85) { "direct" } else { "indirect" });
    object.json("year_no", prose.random.u8(1..=3));
    object.json("quantity", quantity);
    object.text("unit", unit);
    object.text("amount", &format!("{}.{:02}", amount / 100, amount % 100));
    object.text("currency", "PHP");
    object.text("fund_source", pick(prose.random, FUND_SOURCES));
    object.text("justification", &prose.sentence(JUSTIFICATIONS));
    object.finish()
}

#[cfg(test)]
mod tests {
    use domain::{Document, Members, Resource as _};

    use super::super::proposals::Recipe;

    const RECIPE: Recipe = Recipe { seed: 5, proposals: 20, median_size: 22 << 10 };

    #[test]
    fn every_item_is_valid_and_written_as_it_is_kept() {
        let mut sizes = Vec::new();
        for (proposal, number) in
            (0..20).flat_map(|proposal| (0..30).map(move |number| (proposal, number)))
        {
            let text = RECIPE.library_item(proposal, number);
            let judged =
                Document::judge(None, Members::read(text.as_bytes()).unwrap().unwrap()).unwrap();
            let members = judged.into_members();
            assert_eq!(members.encoded(), text);
            let kind = members.get("item_kind").unwrap().as_text().unwrap();
            assert_eq!(members.get("csl").is_some(), kind == "reference");
            assert_eq!(members.get("amount").is_some(), kind == "line_item");
            sizes.push(text.len());
        }
        sizes.sort_unstable();
        let (low, high) = (sizes[sizes.len() / 20], sizes[sizes.len() * 19 / 20]);
        assert!(low >= 280 && high <= 640, "nine of ten items take {low} to {high} bytes");
    }

    #[test]
    fn a_seed_always_gives_the_same_items() {
        assert_eq!(RECIPE.library_item(1, 2), RECIPE.library_item(1, 2));
        for other in [
            RECIPE.library_item(1, 3),
            RECIPE.library_item(2, 2),
            Recipe { seed: 6, ..RECIPE }.library_item(1, 2),
        ] {
            assert_ne!(RECIPE.library_item(1, 2), other);
        }
    }
}
