//! How metrics are written down.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use application::metrics::{
    Collector, Format, Histogram, Kind, Labels, Metric, Reading, Recorder, TraceId,
};
use prometheus_client::collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::{Exemplar, HistogramWithExemplars};
use prometheus_client::registry::Registry;

/// The label of an exemplar.
type TraceLabel = [(&'static str, String); 1];

/// The values of a histogram, as the library keeps them.
#[derive(Clone, Debug)]
struct Buckets(HistogramWithExemplars<TraceLabel>);

impl Recorder for Buckets {
    fn record(&self, value: f64, trace: Option<TraceId>) {
        let exemplar = trace.map(|trace| [("trace_id", trace.to_string())]);
        self.0.observe(value, exemplar, None);
    }
}

/// Makes histograms record.
pub struct Attach;

impl Collector for Attach {
    fn take(&mut self, metric: &'static Metric, _labels: Labels<'_>, reading: Reading<'_>) {
        if let (
            Kind::Histogram(bounds),
            Reading::Histogram(histogram) | Reading::HistogramIfUsed(histogram),
        ) = (metric.kind, reading)
        {
            let make = |bounds: &'static [f64]| -> Box<dyn Recorder> {
                Box::new(Buckets(HistogramWithExemplars::new(bounds.iter().copied())))
            };
            histogram.attach(make, bounds);
        }
    }
}

/// The series of a metric, with the labels of each.
type Series = Vec<(Vec<(&'static str, String)>, Value)>;

#[derive(Debug)]
enum Value {
    Count(u64),
    Number(f64),
    Histogram(Buckets),
}

/// All metrics by their names, as the series of one have to stand together.
#[derive(Debug, Default)]
pub struct Families(BTreeMap<&'static str, (Family, Series)>);

#[derive(Clone, Copy, Debug)]
struct Family(&'static Metric);

impl Collector for Families {
    fn take(&mut self, metric: &'static Metric, labels: Labels<'_>, reading: Reading<'_>) {
        // What was made since the last time, as for rules that were read again, records from now on.
        Attach.take(metric, labels, reading);
        let buckets = |histogram: &Histogram| {
            let recorder: &dyn Any = histogram.recorder()?;
            let buckets = recorder.downcast_ref::<Buckets>()?;
            Some(Value::Histogram(buckets.clone()))
        };
        let value = match reading {
            Reading::Count(count) => Some(Value::Count(count)),
            Reading::Time(time) => Some(Value::Number(time.as_secs_f64())),
            Reading::Number(number) => Some(Value::Number(number)),
            Reading::Histogram(histogram) => buckets(histogram),
            Reading::HistogramIfUsed(histogram) if histogram.is_used() => buckets(histogram),
            Reading::HistogramIfUsed(_) => None,
        };
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let (_, series) = self.0.entry(metric.name).or_insert((Family(metric), Vec::new()));
        series.extend(value.map(|value| (labels, value)));
    }
}

impl Families {
    /// Writes all down.
    pub fn write(self, format: Format) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &registry) {
            // A string takes whatever is written to it.
            tracing::error!(%error, "the metrics were not written whole");
        }
        match format {
            Format::OpenMetrics => text,
            Format::Prometheus => plain(&text),
        }
    }
}

impl collector::Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for (Family(metric), series) in self.0.values() {
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram(_) => MetricType::Histogram,
            };
            let mut family = encoder.encode_descriptor(metric.name, metric.help, None, kind)?;
            match &series[..] {
                [(labels, value)] if labels.is_empty() => value.encode(metric.kind, family)?,
                series => {
                    for (labels, value) in series {
                        value.encode(metric.kind, family.encode_family(labels)?)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Value {
    fn encode(&self, kind: Kind, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let no_exemplar = None::<&Exemplar<TraceLabel, f64>>;
        match (self, kind) {
            (Self::Histogram(Buckets(histogram)), _) => histogram.encode(encoder),
            (Self::Count(count), Kind::Counter) => encoder.encode_counter(count, no_exemplar),
            (Self::Number(number), Kind::Counter) => encoder.encode_counter(number, no_exemplar),
            (Self::Count(count), _) => encoder.encode_gauge(count),
            (Self::Number(number), _) => encoder.encode_gauge(number),
        }
    }
}

/// Makes the text format of Prometheus of `OpenMetrics`: counters are named as their series are, and there are neither
/// exemplars nor an end.
fn plain(open_metrics: &str) -> String {
    let lines: Vec<_> = open_metrics.lines().filter(|line| *line != "# EOF").collect();
    let mut text = String::with_capacity(open_metrics.len());
    let is_counter = |name: &str, next: Option<&&str>| {
        next.is_some_and(|next| next.strip_prefix("# TYPE ") == Some(&format!("{name} counter")))
    };
    let mut counter = "";
    for (index, line) in lines.iter().enumerate() {
        if let Some((name, help)) =
            line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '))
        {
            counter = if is_counter(name, lines.get(index + 1)) { "_total" } else { "" };
            text.extend(["# HELP ", name, counter, " ", help]);
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            text.extend(["# TYPE ", name, counter, " ", kind]);
        } else {
            // Only these have exemplars.
            let bucket = line.split_once(" # {").filter(|(series, _)| series.contains("_bucket{"));
            text += bucket.map_or(line, |(series, _exemplar)| series);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use application::metrics::{Collector as _, Format, Histogram, Metric, Reading, TraceId};

    use super::{Attach, Families};

    static SENT: Metric = Metric::counter("sent_bytes", "Bytes that were sent");
    static OPEN: Metric = Metric::gauge("open", "What is open");
    static TOOK: Metric = Metric::histogram("took_seconds", "How long it took", &[0.5, 2.0]);

    fn written(format: Format) -> String {
        let (used, unused, traced) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        used.record(9.0); // Nobody collects it yet.
        for histogram in [&used, &unused, &traced] {
            Attach.take(&TOOK, &[], Reading::HistogramIfUsed(histogram));
        }
        used.record(1.0);
        traced.record_traced(0.25, Some(TraceId(0xab)));
        let mut families = Families::default();
        families.take(&TOOK, &[("of", "used")], Reading::HistogramIfUsed(&used));
        families.take(&OPEN, &[], Reading::Count(2));
        families.take(&SENT, &[("to", "a\"b\\\nc")], Reading::Count(3));
        families.take(&TOOK, &[("of", "unused")], Reading::HistogramIfUsed(&unused));
        families.take(&TOOK, &[("of", "traced")], Reading::Histogram(&traced));
        families.write(format)
    }

    #[test]
    fn series_stand_together_in_both_formats() {
        assert_eq!(written(Format::OpenMetrics), include_str!("exposition/open_metrics.txt"));
        assert_eq!(written(Format::Prometheus), include_str!("exposition/plain.txt"));
    }
}
