//! A dossier has the items, members and contents that its caller may read.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use serde_json::Value;
use zip::ZipArchive;

use crate::world::{World, on_each_store};

const CALLERS: [(&str, &str); 4] =
    [("staff", "staff"), ("blind", "reviewer"), ("reader", "reader"), ("clerk", "clerk")];

const POLICIES: &str = "
policies:
  - id: staff_all
    group: [proposals, lib, files, gadscores, status, cashprogram]
    allow: [read, history, write]
    to: [staff]
  - {id: reviewers, group: [proposals, lib, files, gadscores, cashprogram], allow: [read, history], to: [reviewer]}
  - {id: blind, group: proposals, hide: [researcher_id], to: [reviewer]}
  - {id: no_contents, group: files, hide: [/_meta/content], to: [reviewer]}
  - {id: drafts, group: files, deny: [read], to: [reviewer], when: 'has(self.state) && self.state == \"draft\"'}
  - {id: no_amounts, group: cashprogram, hide: [proposal_id], to: [reviewer]}
  - {id: readers, group: [proposals, lib], allow: [read], to: [reader], when: '!has(self.secret)'}
  - {id: readers_of_files, group: files, allow: [read], to: [reader]}
  - {id: clerks, group: proposals, allow: [read], to: [clerk], when: 'self.project_title == \"Other\"'}
";

fn entries(archive: &[u8]) -> BTreeMap<String, String> {
    let mut read = ZipArchive::new(Cursor::new(archive)).unwrap();
    let all = 0..read.len();
    let entry = |number| {
        let mut entry = read.by_index(number).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (entry.name().unwrap().into_owned(), text)
    };
    all.map(entry).collect()
}

/// Each list with a word of each of its items, and the names of the contents.
fn listed(found: &BTreeMap<String, String>) -> Vec<String> {
    let mut listed = Vec::new();
    for (name, text) in found {
        match serde_json::from_str(text) {
            Ok(Value::Array(items)) => {
                let word = |item: &Value| {
                    let names = ["expense_object", "filename", "title", "message"];
                    let word = names.iter().find_map(|name| item[name].as_str());
                    format!(" {}", word.expect("a word"))
                };
                listed.push(items.iter().map(word).fold(name.clone(), |all, word| all + &word));
            }
            _ if name.contains('/') => listed.push(name.clone()),
            _ => {}
        }
    }
    listed
}

#[test]
fn a_dossier_has_what_the_caller_may_read() {
    on_each_store(|store| {
        let world = World::new(store, &CALLERS, POLICIES, &[]);
        let proposal =
            r#"{"proposal_type":"R&D","project_title":"Rice","researcher_id":"canary-author"}"#;
        let id = world.create("staff", "/v1/proposals", proposal).id();
        let path = format!("/v1/proposals/{id}/dossier.zip");
        let naming = |more: &str| format!(r#"{{"proposal_id":"{id}"{more}}}"#);
        let lib = format!("/v1/proposals/{id}/lib");
        world.create("staff", &lib, r#"{"title":"seen"}"#);
        world.create("staff", &lib, r#"{"title":"canary","secret":true}"#);
        let file = world.create("staff", "/v1/files", &naming(r#","filename":"letter""#)).id();
        let content = world.service.put(&format!("/v1/files/{file}/content"));
        let content = content.body("text/plain", "canary-bytes");
        assert_eq!(world.send("staff", content).status, 201);
        world.create("staff", "/v1/files", &naming(r#","filename":"draft","state":"draft""#));
        world.create("staff", "/v1/cashprogram", &naming(r#","expense_object":"rice""#));
        world.create("staff", "/status", &format!(r#"{{"subject":"{id}","message":"in"}}"#));
        let time = world.get("staff", "/status").items()[0]["_meta"]["updated_at"].clone();
        let time = time.as_str().unwrap().to_owned();

        let names = |name: &str, path: &str| {
            let found = entries(&world.get(name, path).body);
            (listed(&found), found.values().cloned().collect::<String>())
        };
        let all = [
            "cashprogram.json rice",
            "contents/files/content",
            "files.json letter draft",
            "library.json seen canary",
            "scores.json",
            "status.json in",
        ];
        let none = ["cashprogram.json", "files.json", "library.json", "scores.json", "status.json"];
        let reviewed =
            ["cashprogram.json", "files.json letter", "library.json seen canary", "scores.json"];
        for path in [path.clone(), format!("{path}?as_of={time}"), format!("{path}?version=1")] {
            let is_early = path.contains("version");
            let (found, text) = names("staff", &path);
            assert_eq!(found, if is_early { &none[..] } else { &all }, "{path}");
            assert!(text.contains("canary-author"));
            let (found, text) = names("blind", &path);
            assert_eq!(found, if is_early { &none[..4] } else { &reviewed }, "{path}");
            for hidden in ["canary-author", "canary-bytes", "\"sha256\"", "key:staff"] {
                assert!(!text.contains(hidden), "{hidden} in {path}");
            }
        }
        let (found, text) = names("reader", &path);
        let read = ["contents/files/content", "files.json letter draft", "library.json seen"];
        assert_eq!(found, read);
        assert!(text.contains("canary-bytes") && !text.contains("secret"));
        for past in [format!("{path}?as_of={time}"), format!("{path}?version=1")] {
            assert_eq!(world.send("reader", world.service.get(&past)).status, 403);
        }
        for (name, status) in [("clerk", 404), ("anonymous", 401)] {
            for method in ["GET", "HEAD"] {
                let answer = world.send(name, world.service.request(method, &path));
                assert_eq!(answer.status, status, "{name}");
            }
        }
        // A write that the caller does not see changes nothing in the dossier.
        let tags = ["blind", "reader", "staff"].map(|name| world.get(name, &path).etag());
        world.create("staff", "/status", &format!(r#"{{"subject":"{id}","message":"new"}}"#));
        let new = ["blind", "reader", "staff"].map(|name| world.get(name, &path).etag());
        assert_eq!(tags[..2], new[..2]);
        assert_ne!(tags[2], new[2]);
    });
}
