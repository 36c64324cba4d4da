//! A project does not end before it starts.

use crate::{About, BuiltInRule, Proposal, Transition, Violation};

pub(super) const RULE: BuiltInRule = BuiltInRule {
    about: About {
        code: "dates_in_order",
        pointer: Some("/end_date"),
        description: Some("A project must not end before it starts."),
        ..About::DEFAULT
    },
    fields: &["start_date", "end_date"],
    check,
    ..BuiltInRule::DEFAULT
};

fn check(transition: &Transition<'_>) -> Result<(), Violation> {
    let proposal = Proposal::of(transition.after);
    match (proposal.start_date(), proposal.end_date()) {
        (Some(start), Some(end)) if end < start => {
            let detail = format!(
                "The end date {end} is before the start date {start}. Correct one of them."
            );
            Err(Violation::of_member("end_date", "dates_in_order", detail))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::{Date, date};
    use proptest::prelude::*;

    use crate::{Members, proposal};

    fn any_day() -> impl Strategy<Value = Date> {
        (0_i16..=9999, 1_i8..=12, 1_i8..=28).prop_map(|(year, month, day)| date(year, month, day))
    }

    fn errors(start: Date, end: Date) -> Vec<String> {
        let (start, end) = (start.to_string(), end.to_string());
        let members = [
            ("proposal_type", "R&D Project"),
            ("project_title", "T"),
            ("start_date", &*start),
            ("end_date", &*end),
        ];
        let found = proposal::judge(None, Members::from_iter(members)).err().unwrap_or_default();
        found.iter().map(|error| format!("{} {}", error.pointer, error.code)).collect()
    }

    proptest! {
        #[test]
        fn of_two_days_exactly_one_order_is_refused(one in any_day(), other in any_day(), is_same in any::<bool>()) {
            let other = if is_same { one } else { other };
            let (early, late) = (one.min(other), one.max(other));
            prop_assert_eq!(errors(early, late), [""; 0]);
            let refused = if early == late { vec![] } else { vec!["/end_date dates_in_order"] };
            prop_assert_eq!(errors(late, early), refused);
        }
    }
}
