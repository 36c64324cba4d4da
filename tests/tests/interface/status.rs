//! `/status`: one resource that the specification documents under three vendor names.

use tests::on_each_store;

const NAMES: [&str; 3] = ["proposedprograms", "gadscores", "proposals"];

#[test]
fn any_of_the_three_names_may_be_sent_and_asked_for() {
    on_each_store(|service| {
        for sent in NAMES {
            let created = service
                .post("/status")
                .body(&vendor_type(sent), r#"{"subject":"Received"}"#)
                .send()
                .expect(201);
            let path = format!("/status/{}", created.id());
            for asked in NAMES {
                let answer = service
                    .get(&path)
                    .accept(vendor_type(asked))
                    .send()
                    .expect(200)
                    .of_type(&vendor_type(asked));
                assert_eq!(answer.text(), created.text(), "the item is the same under {asked}");
                service
                    .get("/status")
                    .accept(vendor_type(asked))
                    .send()
                    .expect(200)
                    .of_type(&vendor_type(asked));
            }
        }
        assert_eq!(service.get("/status").send().expect(200).embedded("status").len(), NAMES.len());
    });
}

#[test]
fn no_other_name_is_served() {
    on_each_store(|service| {
        for other in ["status", "statuses", "files", "lib", "cashprogram"] {
            service.get("/status").accept(vendor_type(other)).send().expect(406);
            service.post("/status").body(&vendor_type(other), "{}").send().expect(415);
        }
    });
}

#[test]
fn the_client_chooses_among_the_names() {
    on_each_store(|service| {
        let both = format!("{};q=0.5, {}", vendor_type("proposals"), vendor_type("gadscores"));
        service.get("/status").accept(both).send().expect(200).of_type(&vendor_type("gadscores"));
        service.get("/status").send().expect(200).of_type("application/hal+json");
    });
}

fn vendor_type(group: &str) -> String {
    format!("application/vnd.{group}.v1+json")
}
