//! The read set of writes on `PostgreSQL`, looked up in a transaction that excludes all other
//! writes.
//!
//! Other writes wait for that transaction, so it needs few messages: one that excludes them and runs
//! all lookups, one for each kind of write, and one that commits. A message with several statements
//! has no parameters, so the values of the lookups are sent earlier, as a setting of the
//! transaction.

use std::sync::Arc;
use std::time::Instant;

use application::WriteMetadata;
use domain::json::encode_string;
use jiff::Timestamp;
use sea_orm::{ConnectionTrait, DbErr, Statement, Value};

use crate::metrics::StoreMetrics;
use crate::postgres::connections::Connections;
use crate::postgres::fence;
use crate::postgres::history_lock::HistoryLock;
use crate::postgres::session::{Limits, Session};
use crate::sql::dialect::POSTGRES;
use crate::write::read_set::{CurrentReads, looks};

/// The values, in the transaction in which they were set.
const VALUES: &str = "current_setting('proposal_service.lookups')::json";

/// A transaction that excludes all other writes.
pub(crate) struct ExclusiveTransaction {
    pub session: Session,
    /// The time of its writes.
    pub time: Timestamp,
    /// The current results of the lookups in the read sets of its writes.
    pub current_reads: CurrentReads,
    /// Measures how long it lasts.
    pub held: Held,
}

/// The time for which others are kept out: until it is dropped.
pub(crate) struct Held {
    since: Instant,
    metrics: Arc<StoreMetrics>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.metrics.lock_held.observe(self.since.elapsed().as_secs_f64());
    }
}

impl ExclusiveTransaction {
    /// Waits for the writes in progress and blocks later ones.
    pub async fn begin<'a>(
        (pool, history): (&Connections, &HistoryLock),
        limits: Limits,
        writes: impl Iterator<Item = &'a WriteMetadata>,
    ) -> Result<Self, DbErr> {
        let looks = looks(writes);
        let (mut message, mut values) = (vec![fence::EXCLUDE_OTHERS.to_owned()], Vec::new());
        for look in &looks {
            message.push(with_settings(look.statement(&POSTGRES), &mut values)?);
        }
        let session = pool.begin(limits).await?;
        if !values.is_empty() {
            let values = format!("[{}]", values.join(","));
            session
                .query_all_raw(POSTGRES.statement(sql_file!("postgres/lookups"), [values.into()]))
                .await?;
        }
        let asked = Instant::now();
        let mut answers = session.query_each(&message.join("; ")).await?;
        let held = Held { since: Instant::now(), metrics: Arc::clone(pool.metrics()) };
        let waited = held.since.duration_since(asked);
        pool.metrics().lock_wait.observe(waited.as_secs_f64());
        let found = answers.split_off(answers.len().saturating_sub(looks.len()));
        let time = fence::time(&answers)?;
        let mut current_reads = CurrentReads::of(history.on(&session));
        for (look, found) in looks.iter().zip(found) {
            match look.apart(found.len()) {
                Some(apart) => current_reads.find(&session, apart).await?,
                None => current_reads.note(look, &found)?,
            }
        }
        Ok(Self { session, time, current_reads, held })
    }
}

/// The text of a statement with its parameters taken from the setting, to whose `values` its own are
/// added. Each is a subquery, which is executed once and not for each row.
fn with_settings(statement: Statement, values: &mut Vec<String>) -> Result<String, DbErr> {
    let own = statement.values.into_iter().flat_map(|values| values.0);
    let mut settings = Vec::new();
    for value in own {
        let place = values.len();
        let (json, setting) = match value {
            Value::Array(_, Some(elements)) => (
                format!(
                    "[{}]",
                    elements.iter().map(json).collect::<Result<Vec<_>, _>>()?.join(",")
                ),
                format!("ARRAY(SELECT json_array_elements_text({VALUES} -> {place}))"),
            ),
            Value::BigInt(_) => (json(&value)?, format!("(SELECT ({VALUES} ->> {place})::bigint)")),
            value => (json(&value)?, format!("(SELECT {VALUES} ->> {place})")),
        };
        values.push(json);
        settings.push(setting);
    }
    Ok(replace_parameters(&statement.sql, &settings))
}

fn json(value: &Value) -> Result<String, DbErr> {
    match value {
        Value::String(Some(text)) => Ok(encode_string(text)),
        Value::BigInt(Some(number)) => Ok(number.to_string()),
        other => Err(DbErr::Type(format!("unsupported value in a lookup: {other:?}"))),
    }
}

/// Puts expressions in the place of `$1`, `$2`, …
fn replace_parameters(text: &str, expressions: &[String]) -> String {
    let mut parts = text.split('$');
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match index.and_then(|index| expressions.get(index)) {
            Some(expression) => replaced = replaced + expression + rest,
            None => replaced = replaced + "$" + part,
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use sea_orm::Value;

    use super::{VALUES, replace_parameters, with_settings};
    use crate::sql::dialect::POSTGRES;
    use crate::sql::sql_text::texts;

    #[test]
    fn parameters_are_replaced_by_their_numbers() {
        let expressions: Vec<_> = (1..=11).map(|number| format!("<{number}>")).collect();
        assert_eq!(
            replace_parameters("$1 + $11 = $2, $12 $", &expressions),
            "<1> + <11> = <2>, $12 $"
        );
    }

    #[test]
    fn nothing_of_a_value_is_in_the_text() {
        let values: [Value; 3] = [
            texts(["a'); DROP TABLE items; --".to_owned(), "$1".to_owned()].into_iter()),
            r#"b"\'"#.into(),
            7_i64.into(),
        ];
        let mut all = vec!["0".to_owned()];
        let text = with_settings(POSTGRES.statement("$1 $2 $3", values), &mut all).unwrap();
        let expected = "ARRAY(SELECT json_array_elements_text(V -> 1)) (SELECT V ->> 2) (SELECT (V ->> 3)::bigint)";
        assert_eq!(text, expected.replace('V', VALUES));
        assert_eq!(all[1..], [r#"["a'); DROP TABLE items; --","$1"]"#, r#""b\"\\'""#, "7"]);
    }
}
