//! The names that members have in files.

use serde_json::{Value, json};
use tests::on_each_store;

use crate::queries::FILES;
use crate::transfers::{counts, export, import};

#[test]
fn members_have_their_own_names_in_ndjson() {
    on_each_store(|service| {
        let members =
            json!({ "=1+2": 1, "@x": 2, "": 3, "'quoted": 4, "proposal": 5, "_version": 6 });
        service.create("/lib", &members.to_string());
        service.create(FILES, r#"{"proposal":1,"+x":2}"#);
        let line = |file: &str| -> Value {
            serde_json::from_str(export(service, file).text()).expect("one line")
        };
        let item = line("lib.ndjson");
        let expected = [
            ("=1+2", 1),
            ("@x", 2),
            ("", 3),
            ("''quoted", 4),
            ("'proposal", 5),
            ("'_version", 6),
            ("_version", 1),
        ];
        for (name, value) in expected {
            assert_eq!(item[name], value, "{name:?} in {item}");
        }
        let item = line("files.ndjson?fields=%2Bx,proposal");
        assert_eq!((&item["+x"], &item["proposal"]), (&json!(2), &json!(1)), "{item}");
        for name in ["lib", "files"] {
            let file = export(service, &format!("{name}.ndjson")).text().to_owned();
            let media_type = "application/x-ndjson";
            let same = import(service, &format!("{name}?upsert=true"), media_type, &*file);
            assert_eq!(counts(&same.expect(200)), [0, 0, 1, 0]);
            // Without its id and version a line is another item with the same members.
            let (id, version) = (r#""id":""#, r#""_version":1,"#);
            let begin = file.find(id).expect("an id");
            let copy = format!("{}{}", &file[..begin], &file[begin + id.len() + 38..]);
            let copy = copy.replacen(version, "", 1);
            assert_eq!(counts(&import(service, name, media_type, copy).expect(200)), [1, 0, 0, 0]);
            let both = export(service, &format!("{name}.ndjson"));
            let mut members = both.text().lines().map(|line| {
                let (_, members) = line.split_once(version).expect("a version");
                members.to_owned()
            });
            assert_eq!(members.next(), members.next());
        }
    });
}
