//! The lines of a file, within bounds: a line that is too long is skipped, and never kept.

use std::io::{self, BufRead, Read as _};

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// With what ends it, if it is ended.
    Whole(&'a [u8]),
    /// It has more bytes than allowed.
    TooLong,
}

/// Reads line after line.
pub struct Lines<R> {
    source: R,
    limit: usize,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most so many bytes, without what ends them.
    pub const fn new(source: R, limit: usize) -> Self {
        Self { source, limit, line: Vec::new(), number: 0, bytes: 0 }
    }

    /// The next line; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let most = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        let read = self.source.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += count(read);
        if read <= self.limit || self.line.ends_with(b"\n") {
            return Ok(Some(Line::Whole(&self.line)));
        }
        self.bytes += count(self.source.skip_until(b'\n')?);
        Ok(Some(Line::TooLong))
    }

    /// The number of the last line that was read.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes were read so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};

    #[test]
    fn lines_are_numbered_and_too_long_ones_skipped() {
        let mut lines = Lines::new(b"abc\nabcd\n\nlonger than that\nab".as_slice(), 3);
        let expected = [
            Line::Whole(b"abc\n"),
            Line::TooLong,
            Line::Whole(b"\n"),
            Line::TooLong,
            Line::Whole(b"ab"),
        ];
        for (number, line) in (1..).zip(expected) {
            assert_eq!(lines.next().unwrap(), Some(line));
            assert_eq!(lines.number(), number);
        }
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.bytes(), 29);
    }
}
