//! All errors of a label file are reported at once, each with its location and its fix.

use std::fs;

use application::{Choice, LabelSet, Labels, Localized};
use domain::Collection;

use crate::files::{assert_error, assert_errors, errors, errors_of, folder, load, load_text, rows};
use crate::{FILE, read};

const WHOLE: &str = "\
name: {fil: Kawanihan, en: Bureau}
logo: logo.PNG
languages: [en, fil, zh-Hant-TW]
groups:
  proposals:
    label: {en: Proposals, fil: Mga panukala}
    fields:
      project_title: {label: Title, help: {zh-Hant-TW: 標題, fil: Tulong}}
      research_type: {choices: [Basic, {value: Applied}, {value: a, label: {fil: A}}]}
  files: {fields: {\"any name\": {label: \"<b>\"}}}
";

fn text<const N: usize>(texts: [Option<&str>; N]) -> Localized {
    Localized(texts.map(|text| text.map(Into::into)).into())
}

fn shown<'a>(labels: &'a LabelSet, group: &str, member: &str) -> [Option<&'a Localized>; 2] {
    let field = labels.field(Collection::known(group), member).expect(member);
    [&field.label, &field.help].map(Option::as_ref)
}

#[test]
fn the_whole_format_is_read() {
    let folder = folder(&[(FILE, WHOLE), ("logo.PNG", "PNG")]);
    let labels = load(&folder.path().join(FILE)).in_force();
    let same = load(folder.path()).in_force();
    assert_eq!((&labels.name, labels.groups.len()), (&same.name, same.groups.len()));
    assert_eq!(*labels.languages, ["en", "fil", "zh-Hant-TW"].map(Into::into));
    assert_eq!(labels.name, Some(text([Some("Bureau"), Some("Kawanihan"), None])));
    let logo = labels.logo.as_ref().expect("a logo");
    assert_eq!((logo.media_type, &*logo.bytes), ("image/png", &b"PNG"[..]));
    let group = &labels.groups[&Collection::known("proposals")];
    assert_eq!(group.label, Some(text([Some("Proposals"), Some("Mga panukala"), None])));
    let (title, help) =
        (text([Some("Title"), None, None]), text([None, Some("Tulong"), Some("標題")]));
    assert_eq!(shown(&labels, "proposals", "project_title"), [Some(&title), Some(&help)]);
    assert_eq!(
        [0, 1, 2, 3].map(|index| help.in_language(index)),
        ["Tulong", "Tulong", "標題", "Tulong"]
    );
    let field = labels.field(Collection::known("proposals"), "research_type").expect("a field");
    let choice = |choice: &Choice| (choice.value.to_string(), choice.label.clone());
    let [basic, applied, a] = ["Basic", "Applied", "a"].map(str::to_owned);
    let of_a = Some(text([None, Some("A"), None]));
    let choices: Vec<_> = field.choices.iter().map(choice).collect();
    assert_eq!(choices, [(basic, None), (applied, None), (a, of_a)]);
    let markup = text([Some("<b>"), None, None]);
    assert_eq!(shown(&labels, "files", "any name"), [Some(&markup), None]);
}

#[test]
fn a_file_without_languages_is_in_english() {
    let labels = load_text("name: Bureau").in_force();
    assert_eq!(
        (&*labels.languages, &labels.name),
        (&["en".into()][..], &Some(text([Some("Bureau")])))
    );
    assert!(labels.logo.is_none() && labels.groups.is_empty());
    assert_eq!(load_text("name: {en: Bureau}").in_force().name, labels.name);
    assert_eq!(load_text("{}").in_force().name, None);
}

const FAULTS: &str = r#"
name: [ => 1: this is not YAML
name: @a => 1: put a text that begins with one of `! & * [ ] { } > | @ % " '` in quotes
- name => 1:1: a label file must be a mapping of keys to values, not a list
nam: A => 1:1: a label file has no key `nam`; did you mean `name`?
name: 5 => 1:7: `name` must be a string, not a number; put it in quotes
name: [] => 1:7: `name` must be a mapping of keys to values, not a list
name: => 1:5: `name` is empty; write a string or remove the key
name: {en: ' '} => 1:12: `name` is empty
name: {fil: A} => 1:8: `languages` has no `fil`; known: `en`
{languages: [fil, en], name: {fill: A}} => 1:31: did you mean `fil`? known: `fil`, `en`
languages: en => 1:12: `languages` must be a list, not a string
languages: [5] => 1:13: `languages` must be a string, not a number
languages: [en, f] => 1:17: `f` is not a language tag of BCP 47, such as `en` or `fil-PH`
languages: [en_US] => 1:13: `en_US` is not a language tag
languages: [en, -fil] => 1:17: `-fil` is not a language tag
languages: [en-] => 1:13: `en-` is not a language tag
languages: [en, fil, EN] => 1:22: duplicate language `EN`; remove one
groups: [] => 1:9: `groups` must be a mapping of keys to values, not a list
groups: {proposal: {}} => 1:10: there is no group `proposal`; did you mean `proposals`?
groups: {files: 5} => 1:17: a group must be a mapping of keys to values, not a number
groups: {files: {}, files: {}} => 1:21: 
"#;

#[test]
fn each_error_of_a_file_has_its_location_and_fix() {
    assert_eq!(errors(""), ["the file is empty; write at least `name:` or `groups:`"]);
    for (text, expected) in rows(FAULTS) {
        assert_error(&text, &expected);
    }
}

#[test]
fn each_error_of_a_group_has_its_location_and_fix() {
    let whole = "groups:\n  proposals:\n    fields: {project_title: {choices: [a]}}";
    assert_errors(
        whole,
        &[
            ("fields", "felds", "3:5: a group has no key `felds`; did you mean `fields`?"),
            ("fields: {", "fields: [{", "3: this is not YAML"),
            ("{project_title: {choices: [a]}}", "5", "3:13: `fields` must be a mapping"),
            (
                "project_title",
                "projct_title",
                "3:14: `proposals` have no field `projct_title`: it is always absent; did you mean `project_title`?",
            ),
            (
                "{choices: [a]}",
                "Title",
                "3:29: a field must be a mapping of keys to values, not a string",
            ),
            ("choices", "choice", "3:30: a field has no key `choice`; did you mean `choices`?"),
            ("choices: [a]", "label: true", "3:37: `label` must be a string, not a boolean"),
            ("choices: [a]", "help: {fil: A}", "3:37: `languages` has no `fil`; known: `en`"),
            ("[a]", "a", "3:39: `choices` must be a list, not a string"),
            ("[a]", "[5]", "3:40: `value` must be a string, not a number; put it in quotes"),
            ("[a]", "['']", "3:40: `value` is empty"),
            ("[a]", "[[a]]", "3:40: a choice must be a mapping of keys to values, not a list"),
            (
                "[a]",
                "[{label: A}]",
                "3:40: a choice needs the key `value`; add one, such as `value: Applied`",
            ),
            (
                "[a]",
                "[{value: a, labl: A}]",
                "3:51: a choice has no key `labl`; did you mean `label`?",
            ),
            ("[a]", "[{value: 1.5}]", "3:48: `value` must be a string, not a number"),
            ("[a]", "[a, b, {value: a}]", "3:46: duplicate choice `a`; remove one"),
        ],
    );
}

#[test]
fn there_is_a_limit_to_everything() {
    let in_field = |text: &str| format!("groups: {{files: {{fields: {{a: {{{text}}}}}}}}}");
    // Characters are counted, not bytes.
    for (key, most) in [("label", 100), ("help", 1_000)] {
        let long = "ñ".repeat(most);
        load_text(&in_field(&format!("{key}: {long}")));
        let reason = format!("the {key} has more than {most} characters; shorten it");
        for text in [format!("{key}: {long}ñ"), format!("{key}: {{en: {long}ñ}}")] {
            let found = errors(&in_field(&text));
            assert!(matches!(&found[..], [error] if error.ends_with(&reason)), "{found:#?}");
        }
    }
    let value = "v".repeat(201);
    for text in [format!("choices: [{value}]"), format!("choices: [{{value: {value}}}]")] {
        assert_error(&in_field(&text), "1: the value has more than 200 characters; shorten it");
    }
    assert_error(&format!("name: {value}"), "1:7: the name has more than 100 characters");
    let numbered =
        |count: u8| (0..count).map(|number| format!("a{number}")).collect::<Vec<_>>().join(", ");
    load_text(&in_field(&format!("choices: [{}]", numbered(200))));
    let many = in_field(&format!("choices: [{}]", numbered(201)));
    assert_error(&many, "1:40: more than 200 choices; remove some");
    let tags: Vec<_> = (0..21).map(|number| format!("en-{number}")).collect();
    load_text(&format!("languages: [{}]", tags[..20].join(", ")));
    let many = format!("languages: [{}]", tags.join(", "));
    assert_error(&many, "1: more than 20 languages");
}

#[test]
fn a_logo_is_a_small_image_file() {
    let small = "x".repeat(100 << 10);
    let folder = folder(&[
        ("logo.svg", "<svg/>"),
        ("empty.png", ""),
        ("small.webp", &small),
        ("a.gif", "GIF"),
    ]);
    fs::write(folder.path().join("large.jpg"), format!("{small}x")).expect("a file");
    fs::create_dir_all(folder.path().join("images/folder.png")).expect("a folder");
    let file = folder.path().join(FILE);
    for (logo, expected) in [
        ("logo.svg", Ok("image/svg+xml")),
        ("./images/../small.webp", Ok("image/webp")),
        ("a.gif", Err("the logo must be a file that ends in .png, .jpg, .webp or .svg")),
        ("logo", Err("the logo must be a file that ends in")),
        ("none.svg", Err("cannot be read: No such file")),
        ("logo.svg/a.png", Err("cannot be read: Not a directory")),
        ("empty.png", Err("is empty, or not a file")),
        ("images/folder.png", Err("is empty, or not a file")),
        ("large.jpg", Err("the logo has more than 102400 bytes; make it smaller")),
        ("5", Err("`logo` must be a string, not a number")),
        ("{en: logo.svg}", Err("`logo` must be a string, not a mapping")),
    ] {
        fs::write(&file, format!("logo: {logo}")).expect("a file");
        match (read(&file), expected) {
            (Ok(labels), Ok(media_type)) => {
                let logo = labels.in_force().logo.clone().expect("a logo");
                assert_eq!(logo.media_type, media_type);
            }
            (Err(errors), Err(reason)) => {
                let errors = errors.to_string();
                assert!(
                    errors.contains("labels.yaml:1:7: ") && errors.contains(reason),
                    "{errors}"
                );
            }
            (read, _) => panic!("{logo}: {:?}", read.map(|_| ())),
        }
    }
}

#[test]
fn all_errors_are_reported_in_their_order() {
    let text = "nam: A\nlogo: a.gif\nlanguages: [x]\ngroups: {file: {}, files: {label: 5, fields: {a: {choices: [b, b]}}}}";
    let places: Vec<_> =
        errors(text).iter().filter_map(|line| Some(line.split_once(": ")?.0.to_owned())).collect();
    assert_eq!(places, ["1:1", "2:7", "3:13", "4:10", "4:35", "4:64"]);
}

#[test]
fn labels_are_in_one_file() {
    let folder = folder(&[("a.yaml", "name: A"), ("b.yml", "name: B"), ("c.txt", "no labels")]);
    let second = "b.yml: is a second label file; put all labels in one file";
    assert_eq!(errors_of(&folder), [second]);
    fs::remove_file(folder.path().join("a.yaml")).expect("a removal");
    assert_eq!(load(folder.path()).in_force().name, Some(text([Some("B")])));
    fs::remove_file(folder.path().join("b.yml")).expect("a removal");
    assert!(
        errors_of(&folder)[0].contains("the folder has no label files"),
        "{:?}",
        errors_of(&folder)
    );
}
