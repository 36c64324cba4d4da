//! The table of the 21 fields of a proposal.
//!
//! Validation, the `OpenAPI` schema, the SQL view `proposals` and the examples read it.

use jiff::civil::Date;
use validator::Validate;

use super::field_types::{
    FieldKind, FieldType, StringOrInteger, StringOrList, StringValue, not_blank,
};
use crate::{Members, Violation, Violations};

#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in JSON and in SQL.
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    pub description: &'static str,
    pub kind: FieldKind,
    pub is_required: bool,
    /// A realistic value, as JSON.
    pub example: &'static str,
}

impl Field {
    pub(super) fn violation(&self, code: &str) -> Violation {
        let (code, error) = match code {
            "required" => ("required", "is required"),
            _ => ("blank", "must not be blank"),
        };
        let detail = format!("`{}` {error}. Send {}.", self.name, self.kind.wanted());
        Violation::of_member(self.name, code, detail)
    }
}

macro_rules! is_required {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

macro_rules! proposal_fields {
    ($($presence:ident $name:ident: $type:ident $(<$life:lifetime>)?, $label:literal, $description:literal, $(#[$validation:meta])? example $example:literal;)*) => {
        /// The fields of a research proposal. A field is `None` if it is absent or has another
        /// type.
        #[derive(Clone, Debug, Validate)]
        pub struct Proposal<'a> {
            $($(#[$validation])? $name: Option<$type $(<$life>)?>,)*
        }

        /// The order is that of the interface specification.
        pub const FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            label: $label,
            description: $description,
            kind: <$type as FieldType>::KIND,
            is_required: is_required!($presence),
            example: $example,
        }),*];

        impl<'a> Proposal<'a> {
            pub(super) fn read(members: &'a Members, violations: &mut Violations) -> Self {
                Self { $($name: read_field(members, stringify!($name), violations),)* }
            }

            $(
                #[doc = $description]
                pub const fn $name(&self) -> Option<&$type $(<$life>)?> {
                    self.$name.as_ref()
                }
            )*
        }
    };
}

proposal_fields! {
    optional start_date: Date, "Start date", "Start date of the project, `YYYY-MM-DD`.", example r#""2026-01-01""#;
    optional end_date: Date, "End date", "End date of the project, `YYYY-MM-DD`, not before `start_date`.", example r#""2027-12-31""#;
    required proposal_type: StringOrInteger<'a>, "Proposal type", "Type of the proposal, such as `R&D Project`, or its number in your list.",
        #[validate(required, custom(function = "not_blank"))] example r#""R&D Project""#;
    optional program_id: StringOrInteger<'a>, "Programme", "Programme the project belongs to. The `id` of an item of `proposedprograms` becomes a `program` link.",
        example r#""01890a5d-ac96-774b-bcce-b302099a8010""#;
    optional project_id: StringOrInteger<'a>, "Project number", "Project number at the agency.", example r#""PRJ-2025-0201""#;
    required project_title: StringValue<'a>, "Project title", "Title of the project.", #[validate(required, custom(function = "not_blank"))]
        example r#""Example: climate-smart nutrient management for rainfed sweetpotato""#;
    optional project_description: StringValue<'a>, "Short description", "Short description of the project, one paragraph.",
        example r#""Two cropping seasons of on-farm trials in eight barangays.""#;
    optional description: StringValue<'a>, "Background and rationale", "Background and rationale.", example r#""Yields of rainfed sweetpotato have stagnated at 5 t/ha.""#;
    optional general_objective: StringValue<'a>, "General objective", "General objective of the project.",
        example r#""To develop and validate nutrient management for rainfed sweetpotato.""#;
    optional specific_objectives: StringOrList<'a>, "Specific objectives", "Specific objectives: a string, or a list of strings.",
        example r#"["Establish the baseline of marketable yield.","Validate two fertilizer schemes on farm."]"#;
    optional significance: StringValue<'a>, "Significance", "Significance of the project and its beneficiaries.", example r#""About 4,000 upland households depend on the crop.""#;
    optional literature: StringValue<'a>, "Related literature", "Review of related literature.", example r#""Split application raised yields by 18 % in comparable zones (Abrenica and Lim, 2009).""#;
    optional methodology: StringValue<'a>, "Methodology", "Methods of the project.", example r#""Randomized complete block design, three treatments, four replications.""#;
    optional sustainability: StringValue<'a>, "Sustainability", "How results are sustained after the project.", example r#""The provincial office adopts the recommendation in its extension guide.""#;
    optional outcomes: StringValue<'a>, "Expected outcomes", "Expected outputs and outcomes.", example r#""A validated recommendation; 120 trained cooperators.""#;
    optional social_impact: StringValue<'a>, "Social impact", "Expected social impact.", example r#""Fewer lean months for upland households.""#;
    optional economic_impact: StringValue<'a>, "Economic impact", "Expected economic impact.", example r#""Net income per hectare rises by ₱18,000 a season.""#;
    optional limitations: StringValue<'a>, "Scope and limitations", "Scope and limitations.", example r#""Irrigated fields are not covered.""#;
    optional research_type: StringValue<'a>, "Research type", "Type of research, such as `Basic`, `Applied` or `Pilot Testing`.", example r#""Applied""#;
    optional researcher_id: StringOrInteger<'a>, "Lead researcher", "Identifier of the lead researcher in the agency's register.", example r#""R-00301""#;
    optional implementation_sites: StringOrList<'a>, "Implementation sites", "Implementation sites: a string, or a list of strings.",
        example r#"["Bato, Catanduanes","Pili, Camarines Sur"]"#;
}

fn read_field<'a, T: FieldType<'a>>(
    members: &'a Members,
    name: &str,
    violations: &mut Violations,
) -> Option<T> {
    // No name of a field has a character to escape.
    let value = members.get_encoded(name).filter(|value| !value.is_null())?;
    match T::read(value, name) {
        Ok(value) => Some(value),
        Err(errors) => {
            violations.extend(errors);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FIELDS;
    use crate::{Members, Violations, proposal};

    fn judge(text: &str) -> Result<Members, Violations> {
        proposal::judge(None, Members::read(text.as_bytes()).unwrap().unwrap())
    }

    /// The violations, each as `POINTER CODE`.
    fn errors(text: &str) -> Vec<String> {
        let violations = judge(text).err().unwrap_or_default();
        violations.iter().map(|found| format!("{} {}", found.pointer, found.code)).collect()
    }

    #[test]
    fn the_examples_of_the_table_are_a_valid_proposal() {
        let members: Vec<_> =
            FIELDS.iter().map(|field| format!("\"{}\":{}", field.name, field.example)).collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(judge(&text).unwrap().encoded(), text);
    }

    #[test]
    fn every_fault_is_reported_at_once_with_its_place() {
        let body = r#"{"start_date":"2026-02-30","project_title":" ","research_type":7,"implementation_sites":["a",1,"b",[]],"projct_id":"x"}"#;
        let expected = [
            "/projct_id unknown_field",
            "/start_date invalid_date",
            "/research_type not_a_string",
            "/implementation_sites/1 not_a_string",
            "/implementation_sites/3 not_a_string",
            "/proposal_type required",
            "/project_title blank",
        ];
        assert_eq!(errors(body), expected);
    }

    #[test]
    fn null_is_absent_and_is_not_kept() {
        let proposal = judge(r#"{"proposal_type":1,"end_date":null,"project_title":"T"}"#).unwrap();
        assert_eq!(proposal.encoded(), r#"{"proposal_type":1,"project_title":"T"}"#);
        let required = errors(r#"{"proposal_type":null,"project_title":"T"}"#);
        assert_eq!(required, ["/proposal_type required"]);
        let unknown = errors(r#"{"proposal_type":1,"project_title":"T","titel":null}"#);
        assert_eq!(unknown, ["/titel unknown_field"]);
    }

    #[test]
    fn rules_speak_about_sound_fields_even_when_others_are_not() {
        let body = r#"{"start_date":"2026-02-02","end_date":"2026-02-01","project_title":"T"}"#;
        assert_eq!(errors(body), ["/proposal_type required", "/end_date dates_in_order"]);
    }

    #[test]
    fn what_a_kind_takes_is_kept_as_given() {
        for (field, value, error) in [
            ("start_date", r#""2024-02-29""#, None),
            ("start_date", r#""2023-02-29""#, Some("invalid_date")),
            ("start_date", r#""2024-2-29""#, Some("invalid_date")),
            ("start_date", r#""2024-02-29T00:00:00Z""#, Some("invalid_date")),
            ("start_date", "20240229", Some("invalid_date")),
            ("project_id", "12345678901234567890123", None),
            ("project_id", "1.0", Some("not_string_or_integer")),
            ("project_id", "true", Some("not_string_or_integer")),
            ("implementation_sites", r#""Albay""#, None),
            ("implementation_sites", "[]", None),
            ("implementation_sites", "{}", Some("not_string_or_list")),
            ("research_type", "[]", Some("not_a_string")),
            ("research_type", r#""\u0000""#, Some("unstorable_character")),
        ] {
            let body = format!(r#"{{"proposal_type":"R","project_title":"T","{field}":{value}}}"#);
            let expected: Vec<_> = error.iter().map(|code| format!("/{field} {code}")).collect();
            assert_eq!(errors(&body), expected, "{field}: {value}");
        }
    }
}
