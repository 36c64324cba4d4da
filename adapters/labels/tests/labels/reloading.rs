//! Labels that are read again: all or nothing.

use std::fs;

use application::Labels;

use crate::files::{folder, load};

#[test]
fn a_bad_file_leaves_the_old_labels_in_force() {
    let folder =
        folder(&[("labels.yaml", "{name: First, logo: logo.svg}"), ("logo.svg", "<svg/>")]);
    let path = folder.path().join("labels.yaml");
    let labels = load(&path);
    let first = labels.edition();
    let name = || labels.in_force().name.as_ref().map(|name| name.in_language(0).to_owned());
    assert_eq!((labels.files.changed(), labels.files.reload()), (None, Ok(false)));
    for bad in ["", "name: [", "name: 5", "{name: Second, logo: none.svg}", "groups: {file: {}}"] {
        fs::write(&path, bad).expect("a file");
        assert!(labels.files.changed().is_some());
        assert!(labels.files.reload().is_err(), "{bad}");
        assert!(labels.files.changed().is_none(), "a refused change is reported once");
        assert_eq!((name().as_deref(), labels.edition()), (Some("First"), first));
        assert!(labels.in_force().logo.is_some());
    }
    fs::write(&path, "{name: Second}").expect("a file");
    let old = labels.in_force();
    assert_eq!((labels.files.reload(), name().as_deref()), (Ok(true), Some("Second")));
    assert!(labels.edition() != first && labels.in_force().logo.is_none());
    assert!(old.logo.is_some(), "a request has the labels of its beginning");
    fs::remove_file(&path).expect("a removal");
    assert!(labels.files.reload().is_err());
    assert_eq!(name().as_deref(), Some("Second"));
}

#[test]
fn a_new_logo_is_read_with_the_file() {
    let folder = folder(&[("labels.yaml", "logo: logo.svg"), ("logo.svg", "<svg/>")]);
    let labels = load(&folder.path().join("labels.yaml"));
    fs::write(folder.path().join("logo.svg"), "<svg></svg>").expect("a file");
    assert_eq!((labels.files.changed(), labels.files.reload()), (None, Ok(false)));
    assert_eq!(labels.in_force().logo.as_ref().expect("a logo").bytes, b"<svg></svg>");
}
