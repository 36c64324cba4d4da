//! The main job on real input: the twelve proposals of `tests/data/sample_proposals.json`, 100
//! bytes to 110 KB.

use serde_json::value::RawValue;
use tests::{ExactJson, on_each_store};

const SAMPLES: &str = include_str!("../../data/sample_proposals.json");

#[test]
fn they_are_created_read_listed_replaced_and_deleted() {
    let samples: Vec<Box<RawValue>> = serde_json::from_str(SAMPLES).unwrap();
    assert_eq!(samples.len(), 12);
    on_each_store(|service| {
        let mut created = Vec::new();
        for sample in &samples {
            let answer = service
                .post("/v1/proposals")
                .json(sample.get())
                .send()
                .expect(201)
                .with_members(sample.get());
            let path = format!("/v1/proposals/{}", answer.id());
            let read = service.get(&path).send().expect(200).with_members(sample.get());
            assert_eq!(read.text(), answer.text());
            created.push((answer.id(), path));
        }

        let list = service.get("/v1/proposals").send().expect(200);
        assert_eq!(
            list.embedded_ids("proposals"),
            created.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>()
        );
        for ((_, path), listed) in created.iter().zip(listed_texts(list.text())) {
            assert_eq!(
                ExactJson::parse(&listed),
                ExactJson::parse(service.get(path).send().expect(200).text()),
                "{path} as listed"
            );
        }

        for ((_, path), sample) in created.iter().zip(samples.iter().rev()) {
            service.put(path).json(sample.get()).send().expect(200).with_members(sample.get());
            service.get(path).send().expect(200).with_members(sample.get());
        }
        for (_, path) in &created {
            service.delete(path).send().expect(204);
            service.get(path).send().expect(404);
        }
        assert_eq!(service.get("/v1/proposals").send().expect(200).value()["total_items"], 0);
    });
}

/// The texts of the embedded items of a page, as they stand in it.
fn listed_texts(page: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Page {
        #[serde(rename = "_embedded")]
        embedded: Embedded,
    }
    #[derive(serde::Deserialize)]
    struct Embedded {
        proposals: Vec<Box<RawValue>>,
    }
    let page: Page = serde_json::from_str(page).expect("a page of proposals");
    page.embedded.proposals.iter().map(|item| item.get().to_owned()).collect()
}
