//! Rules that are read again: all or nothing, and only when their files changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use application::RuleBook;
use domain::Collection;
use rules_adapter::ReloadableRules;

use crate::files::folder;

fn written(ids: &[&str]) -> String {
    let rule = |id: &&str| format!("- {{id: {id}, group: files, check: 'true', message: no}}\n");
    format!("rules:\n{}", ids.iter().map(rule).collect::<String>())
}

fn write(path: &Path, ids: &[&str]) {
    fs::write(path, written(ids)).expect("a file");
}

fn ids(book: &dyn RuleBook) -> Vec<String> {
    book.rules(Collection::known("files")).iter().map(|rule| rule.about().code.to_owned()).collect()
}

/// A change of the files, how it is made, and the rules that are in force after it.
type Change<'a> = (&'a str, &'a dyn Fn(), &'a [&'a str]);

#[test]
fn a_service_without_rules_has_none_to_reload() {
    let none = ReloadableRules::default();
    assert!(Collection::all().all(|collection| none.rules(collection).is_empty()));
    assert_eq!((none.edition(), none.files.changed(), none.files.reload()), (0, None, Ok(false)));
}

#[test]
fn bad_rules_leave_the_old_ones_in_force() {
    let folder = folder(&[("rules.yaml", &written(&["a"]))]);
    let path = folder.path().join("rules.yaml");
    let rules = ReloadableRules::open(folder.path(), &["taken"]).expect("sound rules");
    let first = rules.edition();
    assert!(rules.files.changed().is_none());
    assert_eq!(rules.files.reload(), Ok(false));
    for bad in [
        "rules: [",
        "rules:\n- {id: b, group: files, check: 'true', message: no}\n- {id: c}",
        "rules:\n- {id: taken, group: files, check: 'true', message: no}",
        "rules:",
        "# nothing",
        "{}",
        "members: {}",
        "",
    ] {
        fs::write(&path, bad).expect("a file");
        assert!(rules.files.changed().is_some());
        assert!(rules.files.reload().is_err());
        assert!(rules.files.changed().is_none(), "a refused change is reported once");
        assert_eq!((ids(&rules), rules.edition()), (vec!["a".to_owned()], first));
    }
    write(&path, &["a"]);
    assert!(rules.files.changed().is_some());
    assert_eq!((rules.files.reload(), rules.edition()), (Ok(false), first));
    write(&path, &["b", "a"]);
    assert_eq!((rules.files.reload(), ids(&rules).join(" ")), (Ok(true), "b a".to_owned()));
    assert_ne!(rules.edition(), first);
}

#[test]
fn any_change_of_a_folder_is_noticed() {
    let folder = folder(&[("a.yaml", &written(&["a"]))]);
    let path = folder.path().join("a.yaml");
    let rules = ReloadableRules::open(folder.path(), &[]).expect("sound rules");
    let other = folder.path().join("b.yaml");
    let rename = || fs::rename(&path, folder.path().join("z.yaml")).expect("a rename");
    let changes: [Change<'_>; 4] = [
        ("a file more", &|| write(&other, &["b"]), &["a", "b"]),
        ("another content of the same length", &|| write(&path, &["c"]), &["c", "b"]),
        ("another name", &rename, &["b", "c"]),
        ("a file less", &|| fs::remove_file(&other).expect("a removal"), &["c"]),
    ];
    for (what, change, expected) in changes {
        assert!(rules.files.changed().is_none(), "before {what}");
        change();
        assert!(rules.files.changed().is_some(), "{what}");
        assert_eq!(rules.files.reload(), Ok(true), "{what}");
        assert_eq!(ids(&rules), expected, "{what}");
    }
    fs::remove_dir_all(folder.path()).expect("a removal");
    assert!(rules.files.changed().is_some());
    assert!(rules.files.reload().is_err());
    assert!(rules.files.changed().is_none());
    assert_eq!(ids(&rules), ["c"]);
}

/// Kubernetes mounts a config map as links into a hidden folder, which it replaces as one.
#[test]
fn a_replaced_config_map_is_noticed() {
    let folder = folder(&[]);
    let at = |name: &str| folder.path().join(name);
    for (version, id) in [("..v1", "a"), ("..v2", "b")] {
        fs::create_dir(at(version)).expect("a folder");
        write(&at(version).join("rules.yaml"), &[id]);
    }
    symlink("..v1", at("..data")).expect("a link");
    symlink("..data/rules.yaml", at("rules.yaml")).expect("a link");
    let rules = ReloadableRules::open(folder.path(), &[]).expect("sound rules");
    assert_eq!((ids(&rules), rules.files.changed().is_some()), (vec!["a".to_owned()], false));
    symlink("..v2", at("..tmp")).expect("a link");
    fs::rename(at("..tmp"), at("..data")).expect("a rename");
    assert!(rules.files.changed().is_some());
    assert_eq!((rules.files.reload(), ids(&rules)), (Ok(true), vec!["b".to_owned()]));
}
