//! The history that fills the stores of a measurement: the export of a made-up store. An import of
//! it makes a store of the same content on every machine.

use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::Timestamp;
use ring::digest::{Context, SHA256};
use uuid::Uuid;

/// The word that one in ten items has, the one that few have, and how many these few are.
pub(super) const COMMON_WORD: &str = "irrigation";
pub(super) const RARE_WORD: &str = "pangolin";

/// How many changes are of the rare group, at even distances, and how many items have the rare word.
pub(super) const RARE: u64 = 50;

const ITEMS_OF_A_RESEARCHER: u64 = 20;

/// The first change is of this second, and one comes each millisecond.
const BEGIN: i64 = 1_767_225_600;

const WORDS: usize = 2_000;

#[derive(Clone, Copy)]
pub(super) struct History {
    pub(super) items: u64,
}

impl History {
    pub(super) fn write(self, file: &mut impl Write) -> io::Result<()> {
        let mut digest = Context::new(&SHA256);
        let mut line =
            String::from("{\"format\":\"proposal-service-changes\",\"format_version\":2}\n");
        for number in 0..self.items {
            digest.update(line.as_bytes());
            file.write_all(line.as_bytes())?;
            line.clear();
            self.change(number, &mut line);
        }
        digest.update(line.as_bytes());
        file.write_all(line.as_bytes())?;
        let bytes = digest.finish();
        let sha256 =
            bytes.as_ref().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        writeln!(file, "{{\"changes\":{},\"sha256\":\"{sha256}\"}}", self.items)?;
        file.flush()
    }

    pub(super) fn id(number: u64) -> Uuid {
        let mut random = fastrand::Rng::with_seed(number);
        let mut bytes = random.u128(..).to_be_bytes();
        let time = u64::try_from(BEGIN).unwrap_or_default() * 1_000 + number;
        bytes[..6].copy_from_slice(&time.to_be_bytes()[2..]);
        bytes[6] = bytes[6] & 0x0f | 0x70;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid::from_bytes(bytes)
    }

    /// The id of a proposal: of the one before an item of the rare group.
    pub(super) fn id_of_proposal(self, number: u64) -> Uuid {
        Self::id(number - u64::from(self.is_rare(number)))
    }

    pub(super) fn researcher(number: u64) -> String {
        format!("R-{:07}", number / ITEMS_OF_A_RESEARCHER)
    }

    /// The value of the member without an index, which no other item has.
    pub(super) fn outcome(number: u64) -> String {
        format!("outcome-{number}")
    }

    pub(super) fn replacement(self, number: u64, title: u64) -> Vec<u8> {
        let body = self.proposal(number).replacen("Yield", &format!("Return {title}"), 1);
        format!(
            "PUT /v1/proposals/{} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.id_of_proposal(number),
            body.len()
        )
        .into_bytes()
    }

    fn is_rare(self, number: u64) -> bool {
        let distance = (self.items / RARE).max(1);
        number % distance == distance / 2
    }

    fn change(self, number: u64, line: &mut String) {
        let second = BEGIN + i64::try_from(number / 1_000).unwrap_or_default();
        let second = Timestamp::from_second(second).unwrap_or_default().to_string();
        let second = second.trim_end_matches('Z');
        let is_rare = self.is_rare(number);
        let group = if is_rare { "statuses" } else { "proposals" };
        let members =
            if is_rare { format!("{{\"text\":\"{RARE_WORD}\"}}") } else { self.proposal(number) };
        let _ = writeln!(
            line,
            "{{\"sequence\":{},\"group\":\"{group}\",\"item_id\":\"{}\",\"version\":1,\"kind\":\"created\",\
             \"time\":\"{second}.{:03}000Z\",\"caller\":null,\"acting\":null,\"client\":null,\"request_id\":null,\
             \"parent\":null,\"continues\":null,\"members\":{members}}}",
            number + 1,
            Self::id(number),
            number % 1_000
        );
    }

    /// Members of about 300 bytes.
    fn proposal(self, number: u64) -> String {
        let mut random = fastrand::Rng::with_seed(!number);
        let mut word = || {
            // Some words are far more common than others, as in prose.
            let place = random.usize(..WORDS).min(random.usize(..WORDS));
            format!("w{place:04}")
        };
        let mut text = [(); 14].map(|()| word()).join(" ");
        if number.is_multiple_of(10) {
            text.push(' ');
            text.push_str(COMMON_WORD);
        }
        if number > 0 && self.is_rare(number - 1) {
            text.push(' ');
            text.push_str(RARE_WORD);
        }
        format!(
            "{{\"proposal_type\":\"basic\",\"project_title\":\"Yield {number} {}\",\"start_date\":\"{}-{:02}-01\",\
             \"research_type\":\"applied\",\"researcher_id\":\"{}\",\"implementation_sites\":\"Bato\",\
             \"outcomes\":\"{}\",\"description\":\"{text}\"}}",
            word_of(number),
            2016 + number % 12,
            number / 12 % 12 + 1,
            Self::researcher(number),
            Self::outcome(number)
        )
    }
}

fn word_of(number: u64) -> &'static str {
    const CROPS: [&str; 6] = ["rice", "abaca", "coconut", "cacao", "banana", "maize"];
    CROPS[usize::try_from(number % 6).unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::{History, RARE};

    #[test]
    fn an_export_has_a_line_for_each_change() {
        let mut export = Vec::new();
        History { items: 1_000 }.write(&mut export).unwrap();
        let export = String::from_utf8(export).unwrap();
        assert_eq!(export.lines().count(), 1_002);
        assert_eq!(export.matches("\"statuses\"").count() as u64, RARE);
        let longest = export.lines().map(str::len).max().unwrap();
        assert!((500..800).contains(&longest), "{longest}");
        assert_eq!(History::id(7).get_version_num(), 7);
    }
}
