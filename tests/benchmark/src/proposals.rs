//! Made-up proposals of about 2.5 KB: valid, all different, and of prose-like text.

use std::sync::LazyLock;

use fastrand::Rng;
use serde_json::{Value, json};

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "abaca;adaptation;agency;analysis;Añonuevo;assessment;barangay;baseline;biodiversity;budget;\
        calibration;carrageenan;climate;coastal;community;conservation;cooperator;data;demand;\
        development;diagnostic;drought;ecology;efficiency;emission;enterprise;equitable;evaluation;\
        evidence;extension;farmer;fertilizer;field;fishery;forecast;gender-responsive;groundwater;\
        harvest;household;hydrology;improved;income;indigenous;innovation;intercropping;irrigation;\
        island;laboratory;landslide;livelihood;mangrove;market;measurement;method;model;monitoring;\
        municipality;nutrient;observation;outcome;participatory;Peñaranda;pilot;policy;postharvest;\
        prototype;province;rainfed;randomized;resilience;rice;salinity;sampling;sensor;sediment;\
        smallholder;soil;stakeholder;survey;sustainable;sweetpotato;technology;training;treatment;\
        tropical;typhoon;upland;validation;variety;water;watershed;yield;₱18,000;5 t/ha;\
        \"best practice\"";
    words.split(';').collect()
});

pub(super) fn made_up_proposal(random: &mut Rng) -> Vec<u8> {
    let sites =
        ["Bato, Catanduanes", "Pili, Camarines Sur", "Los Baños, Laguna", "Muñoz, Nueva Ecija"];
    let proposal = json!({
        "start_date": format!("2026-{:02}-01", random.u8(1..=12)),
        "end_date": format!("2028-{:02}-28", random.u8(1..=12)),
        "proposal_type": "R&D Project",
        "program_id": format!("PRG-2025-{:03}", random.u16(1..=999)),
        "project_id": format!("PRJ-2025-{:05}", random.u32(1..=99_999)),
        "project_title": text(random, 70),
        "project_description": text(random, 150),
        "description": text(random, 220),
        "general_objective": text(random, 100),
        "specific_objectives": [text(random, 80), text(random, 80)],
        "significance": text(random, 170),
        "literature": text(random, 220),
        "methodology": text(random, 260),
        "sustainability": text(random, 110),
        "outcomes": text(random, 110),
        "social_impact": text(random, 110),
        "economic_impact": text(random, 110),
        "limitations": text(random, 90),
        "research_type": "Applied",
        "researcher_id": random.u32(1..=2_000),
        "implementation_sites": [random.choice(sites).map_or(Value::Null, Value::from)],
    });
    proposal.to_string().into_bytes()
}

fn text(random: &mut Rng, length: usize) -> String {
    let mut text = String::with_capacity(length + 20);
    while text.len() < length {
        text.push_str(random.choice(WORDS.iter()).copied().unwrap_or_default());
        text.push(' ');
    }
    text.truncate(text.trim_end().len());
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::made_up_proposal;

    #[test]
    fn a_proposal_is_about_two_and_a_half_kilobytes() {
        let mut random = Rng::with_seed(1);
        let total: usize = (0..200).map(|_| made_up_proposal(&mut random).len()).sum();
        assert!((2_400..2_600).contains(&(total / 200)), "{} bytes on average", total / 200);
    }
}
