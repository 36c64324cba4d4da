//! Bar charts, drawn as SVG by the server.

use super::cells::shortened;

/// Further values are one more bar.
const MOST_BARS: usize = 12;

/// In characters.
const LABEL: usize = 26;

/// Widths and heights are in units of the drawing.
const WIDTH: u64 = 300;

/// Room for a bar and its number, and for each character of the number.
const ROOM: u64 = 384;
const CHARACTER: u64 = 10;

const ROW: usize = 26;

pub struct Chart {
    pub title: String,
    pub bars: Vec<Bar>,
    pub height: usize,
    /// Alternative text.
    pub summary: String,
}

pub struct Bar {
    pub count: Count,
    pub width: u64,
    pub y: usize,
}

impl Bar {
    pub fn short_label(&self) -> String {
        shortened(&self.count.label, LABEL)
    }
}

pub struct Count {
    pub label: String,
    pub items: u64,
    pub number: String,
    pub href: Option<String>,
}

impl Count {
    pub fn of_items(label: String, items: u64, href: Option<String>) -> Self {
        Self { label, items, number: items.to_string(), href }
    }

    /// In hundredths.
    pub fn of_amount(label: String, hundredths: u64, href: Option<String>) -> Self {
        let number = format!("{}.{:02}", grouped(hundredths / 100), hundredths % 100);
        Self { label, items: hundredths, number, href }
    }
}

fn scaled(number: u64, largest: u64, width: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(width) / u128::from(largest);
    u64::try_from(scaled).unwrap_or(width)
}

fn longest_bar(counts: &[Count]) -> u64 {
    let characters = counts.iter().map(|count| count.number.len()).max().unwrap_or_default();
    WIDTH.min(ROOM.saturating_sub(CHARACTER * characters as u64))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

impl Chart {
    pub fn new(title: impl Into<String>, mut counts: Vec<Count>) -> Self {
        if counts.len() > MOST_BARS {
            let rest = counts.split_off(MOST_BARS - 1);
            let items = rest.iter().map(|count| count.items).sum();
            let label = format!("{} others", rest.len());
            counts.push(Count::of_items(label, items, None));
        }
        let largest = counts.iter().map(|count| count.items).max().unwrap_or_default().max(1);
        let (title, width) = (title.into(), longest_bar(&counts));
        let listed: Vec<_> =
            counts.iter().map(|count| format!("{}: {}", count.label, count.number)).collect();
        let bar = |(index, count): (usize, Count)| Bar {
            width: scaled(count.items, largest, width).max(1),
            y: index * ROW,
            count,
        };
        let bars: Vec<_> = counts.into_iter().enumerate().map(bar).collect();
        let (height, summary) = (bars.len() * ROW, format!("{title}: {}", listed.join(", ")));
        Self { title, bars, height, summary }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chart, Count, MOST_BARS, WIDTH};

    #[test]
    fn amounts_are_written_with_their_hundredths() {
        for (hundredths, number) in
            [(0, "0.00"), (7, "0.07"), (99_950, "999.50"), (123_456_789, "1,234,567.89")]
        {
            assert_eq!(Count::of_amount(String::new(), hundredths, None).number, number);
        }
    }

    #[test]
    fn long_numbers_fit_next_to_the_longest_bar() {
        for (hundredths, width) in [(100, WIDTH), (999_999_999_999, 224), (u64::MAX, 124)] {
            let counts = vec![Count::of_amount("x".to_owned(), hundredths, None)];
            assert_eq!(Chart::new("x", counts).bars[0].width, width);
        }
    }

    #[test]
    fn bars_are_as_long_as_their_numbers_and_the_rest_is_one_bar() {
        let counts = (0..20).map(|index| {
            let items = if index == 0 { 100 } else { 5 };
            Count::of_items(format!("v{index}"), items, None)
        });
        let chart = Chart::new("x", counts.collect());
        let widths: Vec<_> = chart.bars.iter().map(|bar| bar.width).collect();
        assert_eq!(chart.bars.len(), MOST_BARS);
        assert_eq!((widths[0], widths[1]), (WIDTH, WIDTH / 20));
        assert_eq!(chart.bars[11].count.label, "9 others");
        assert_eq!(chart.bars[11].count.number, "45");
        assert!(Chart::new("empty", Vec::new()).bars.is_empty());
    }
}
