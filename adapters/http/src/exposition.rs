//! Text formats of metrics.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub fn open_metrics(registry: &Registry) -> String {
    let mut text = String::new();
    if let Err(error) = encode(&mut text, registry) {
        tracing::error!(%error, "cannot write all metrics");
    }
    text
}

/// Converts `OpenMetrics` to the Prometheus text format 0.0.4: without exemplars and `# EOF`,
/// counters named like their series.
pub fn plain(open_metrics: &str) -> String {
    let lines: Vec<_> = open_metrics.lines().filter(|line| *line != "# EOF").collect();
    let mut written = String::with_capacity(open_metrics.len());
    let is_counter = |name: &str, next: Option<&&str>| {
        next.is_some_and(|next| next.strip_prefix("# TYPE ") == Some(&format!("{name} counter")))
    };
    let mut counter = "";
    for (index, line) in lines.iter().enumerate() {
        let mut words = line.splitn(4, ' ');
        let first: [_; 4] = std::array::from_fn(|_| words.next().unwrap_or_default());
        if let ["#", word @ ("HELP" | "TYPE"), name, text] = first {
            if word == "HELP" {
                counter = if is_counter(name, lines.get(index + 1)) { "_total" } else { "" };
            }
            written.extend(["# ", word, " ", name, counter, " ", text]);
        } else {
            // Only buckets have exemplars.
            let bucket = line.split_once(" # {").filter(|(series, _)| series.contains("_bucket{"));
            written += bucket.map_or(line, |(series, _exemplar)| series);
        }
        written.push('\n');
    }
    written
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::exemplar::HistogramWithExemplars;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::registry::Registry;

    use super::{open_metrics, plain};

    #[test]
    fn both_formats_have_all_series() {
        let mut registry = Registry::default();
        let open = Gauge::<i64>::default();
        open.set(2);
        registry.register("open", "What is open", open);
        let sent = Family::<[(&str, &str); 1], Counter>::default();
        sent.get_or_create(&[("to", "a\"b\\\nc")]).inc_by(3);
        registry.register("sent_bytes", "Bytes that were sent", sent);
        let took = HistogramWithExemplars::new([0.5, 2.0].into_iter());
        took.observe(1.0, None, None);
        took.observe(0.25, Some([("trace_id", "ab")]), None);
        registry.register("took_seconds", "How long it took", took);
        let text = open_metrics(&registry);
        assert_eq!(text, include_str!("exposition/open_metrics.txt"));
        assert_eq!(plain(&text), include_str!("exposition/plain.txt"));
    }
}
