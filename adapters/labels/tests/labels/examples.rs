//! The label file that people copy (`docs/examples/labels`), its schema, and the page about labels.

use std::fs;
use std::path::PathBuf;

use application::{FieldLabels, Labels, Localized};
use domain::Collection;
use labels_adapter::schema;

use crate::files::{assert_published, docs, load, load_text};
use crate::schema::faults;

fn example() -> PathBuf {
    docs("examples/labels/agency.yaml")
}

fn page() -> String {
    fs::read_to_string(docs("labels.md")).expect("the page")
}

#[test]
fn every_text_of_the_example_is_in_both_languages() {
    let labels = load(&example()).in_force();
    assert_eq!(*labels.languages, ["en".into(), "fil".into()]);
    assert_eq!(labels.logo.as_ref().expect("a logo").media_type, "image/svg+xml");
    let groups = labels.groups.values();
    let fields = groups.clone().flat_map(|group| group.fields.values());
    let of_field = |field: &FieldLabels| {
        let choices: Vec<_> = field.choices.iter().map(|choice| choice.label.clone()).collect();
        [field.label.clone(), field.help.clone()].into_iter().chain(choices)
    };
    let texts = groups.map(|group| group.label.clone()).chain(fields.flat_map(of_field));
    let texts: Vec<_> = texts.chain([labels.name.clone()]).flatten().collect();
    let is_whole = |text: &Localized| text.0.len() == 2 && text.0.iter().all(Option::is_some);
    let partial: Vec<_> = texts.iter().filter(|text| !is_whole(text)).collect();
    assert_eq!(partial, [&Localized(vec![Some("Curriculum vitae".into()), None])]);
    assert!(texts.len() > 60, "{}", texts.len());
}

#[test]
fn the_example_has_every_field_of_proposals_and_the_usual_choices() {
    let labels = load(&example()).in_force();
    let labelled = |collection, member| labels.field(collection, member)?.label.as_ref();
    let proposals = Collection::known("proposals");
    let members: Vec<_> = proposals.known_members().map(|(member, _)| member).collect();
    assert_eq!(members.len(), 21);
    for member in members {
        assert!(labelled(proposals, member).is_some(), "{member}");
    }
    for (group, member, count) in [
        ("proposals", "proposal_type", 5),
        ("proposals", "research_type", 5),
        ("files", "document_type", 6),
        ("gadscores", "rating", 5),
    ] {
        let field = labels.field(Collection::known(group), member).expect(member);
        assert_eq!(field.choices.len(), count, "{group}.{member}");
    }
}

#[test]
fn the_published_schema_accepts_the_example_and_refuses_files_of_a_wrong_form() {
    assert_published("labels.json", &schema());
    let example = fs::read_to_string(example()).expect("a file");
    assert_eq!(faults(&schema(), &example), [""; 0]);
    let file = "{name: A, groups: {files: {fields: {title: {choices: [a]}}}}}";
    for (part, other, is_valid) in [
        ("A", "{en: A, fil: B}", true),
        ("A", "5", false),
        ("A", "[A]", false),
        ("name: A", "languages: [en]", true),
        ("name: A", "languages: en", false),
        ("name: A", "nmae: A", false),
        ("files", "file", false),
        ("title: {", "title: {label: T, help: {en: H}, ", true),
        ("title: {", "title: {lable: T, ", false),
        ("[a]", "[{value: a, label: {en: A}}]", true),
        ("[a]", "[{label: A}]", false),
        ("[a]", "a", false),
    ] {
        let text = file.replacen(part, other, 1);
        assert_eq!(faults(&schema(), &text).is_empty(), is_valid, "{text}");
    }
}

#[test]
fn every_label_file_of_the_page_is_sound() {
    let page = page();
    let blocks = page.split("\n```yaml").skip(1).filter_map(|block| block.split_once('\n'));
    let files: Vec<_> = blocks.filter_map(|(_, rest)| rest.split_once("\n```")).collect();
    assert!(files.len() >= 2, "the test looks for examples");
    for (text, _) in files {
        println!("{text}");
        load_text(text);
    }
}

#[test]
fn the_page_names_every_key() {
    let page = page();
    let cells: String =
        page.lines().filter_map(|it| it.strip_prefix('|')?.split('|').next()).collect();
    for key in
        ["name", "logo", "languages", "groups", "label", "fields", "help", "choices", "value"]
    {
        assert!(cells.contains(&format!("`{key}`")), "{key}: {cells}");
    }
}
