//! Filters of the log.

use tracing_subscriber::filter::Targets;

/// Messages of libraries matter to operators only as warnings.
const DEFAULT_LOG_FILTER: &str = "info,sqlx=warn,sea_orm=warn";

const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

pub fn default() -> String {
    std::env::var("RUST_LOG")
        .ok()
        .filter(|filter| !filter.is_empty())
        .unwrap_or_else(|| DEFAULT_LOG_FILTER.to_owned())
}

/// Refuses filters that log nothing by mistake: the library takes an unknown level or a span for a
/// module.
pub fn parse(text: &str) -> Result<Targets, String> {
    let directives: Vec<_> = text.split(',').map(str::trim).collect();
    let is_valid = directives.iter().all(|directive| {
        let level = directive.rsplit('=').next().unwrap_or_default();
        let is_level = LOG_LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known));
        is_level && !directive.contains('[')
    });
    let filter = directives.join(",").parse().ok().filter(|_| is_valid);
    filter.ok_or_else(|| {
        let levels = LOG_LEVELS.join(", ");
        format!("give a level ({levels}), also by module, such as info,storage_adapter=debug")
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_log_filter_has_levels_alone() {
        for (text, is_valid) in [
            ("info", true),
            ("WARN,storage_adapter=debug,sqlx=off", true),
            ("info, sqlx=warn", true),
            ("[request]=debug", false),
            ("http_adapter[{id}]=debug", false),
            ("sqlx = warn", false),
            ("info,storage_adapter", false),
        ] {
            assert_eq!(parse(text).is_ok(), is_valid, "{text}");
        }
        assert_eq!(parse("info, sqlx=warn"), parse("info,sqlx=warn"), "spaces are of no module");
    }
}
