//! Lines of a file, within bounds: a line above the limit is skipped and never buffered.

use std::io::{self, BufRead, Read as _};

use crate::commands::error::{CommandError, Result};

#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

pub struct LineReader<R> {
    source: R,
    named: String,
    limit: u64,
    line: Vec<u8>,
    pub number: u64,
    pub bytes: u64,
}

impl<R: BufRead> LineReader<R> {
    pub const fn new(source: R, named: String, limit: u64) -> Self {
        Self { source, named, limit, line: Vec::new(), number: 0, bytes: 0 }
    }

    pub fn next(&mut self) -> Result<Option<Line<'_>>> {
        let is_whole = self.read().map_err(|cause| CommandError::Source(self.named.clone(), cause));
        Ok(is_whole?.map(|is_whole| if is_whole { Line::Whole(&self.line) } else { Line::TooLong }))
    }

    fn read(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let most = self.limit.saturating_add(1);
        let read = self.source.by_ref().take(most).read_until(b'\n', &mut self.line)? as u64;
        if read == 0 {
            return Ok(None);
        }
        let is_whole = read <= self.limit || self.line.ends_with(b"\n");
        let skipped = if is_whole { 0 } else { self.source.skip_until(b'\n')? };
        self.number += 1;
        self.bytes += read + skipped as u64;
        Ok(Some(is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, LineReader};

    #[test]
    fn lines_are_numbered_and_too_long_ones_skipped() {
        let mut lines =
            LineReader::new(b"abc\nabcd\n\nlonger than that\nab".as_slice(), String::new(), 3);
        let expected = [
            Line::Whole(b"abc\n"),
            Line::TooLong,
            Line::Whole(b"\n"),
            Line::TooLong,
            Line::Whole(b"ab"),
        ];
        for (number, line) in (1..).zip(expected) {
            assert_eq!(lines.next().unwrap(), Some(line));
            assert_eq!(lines.number, number);
        }
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.bytes, 29);
    }
}
