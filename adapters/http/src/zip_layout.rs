//! The layout of a ZIP archive without compression (APPNOTE 6.3.10), known before the bytes of its
//! entries. The crate `zip` writes entries only with their bytes.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The name is in UTF-8.
const FLAGS: u64 = 1 << 11;

const VERSION: u64 = 20;

const ZIP64_VERSION: u64 = 45;

/// Made on Unix: a regular file that its owner may write.
const MADE_BY: u64 = (3 << 8) | ZIP64_VERSION;
const ATTRIBUTES: u64 = 0o100_644 << 16;

const MOST_32: u64 = 0xffff_ffff;
const MOST_16: u64 = 0xffff;

#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// A relative path with `/`.
    pub name: &'a str,
    /// In bytes.
    pub size: u64,
    pub crc32: u32,
    pub time: Timestamp,
}

#[derive(Debug, Default)]
pub struct Layout {
    /// The central directory.
    directory: Vec<u8>,
    entries: u64,
    /// Of the next entry.
    offset: u64,
}

impl Layout {
    /// Adds an entry. Returns the header that precedes its bytes.
    pub fn add(&mut self, entry: &Entry<'_>) -> Vec<u8> {
        let Entry { name, size, .. } = *entry;
        let sizes = if size >= MOST_32 { vec![size, size] } else { Vec::new() };
        let mut header = Vec::with_capacity(30 + name.len() + 20);
        push_32(&mut header, &[0x0403_4b50]);
        push_common(&mut header, entry, &sizes);
        header.extend_from_slice(name.as_bytes());
        header.extend(extra(&sizes));

        let mut fields = sizes;
        fields.extend((self.offset >= MOST_32).then_some(self.offset));
        let directory = &mut self.directory;
        push_32(directory, &[0x0201_4b50]);
        push_16(directory, &[MADE_BY]);
        push_common(directory, entry, &fields);
        // No comment, the first disk, no internal attributes.
        push_16(directory, &[0, 0, 0]);
        push_32(directory, &[ATTRIBUTES, self.offset]);
        directory.extend_from_slice(name.as_bytes());
        directory.extend(extra(&fields));

        self.entries += 1;
        self.offset += header.len() as u64 + size;
        header
    }

    /// Returns the central directory with the records that end the archive.
    pub fn finish(self) -> Vec<u8> {
        let Self { mut directory, entries, offset } = self;
        let size = directory.len() as u64;
        if entries >= MOST_16 || offset >= MOST_32 || size >= MOST_32 {
            push_32(&mut directory, &[0x0606_4b50]);
            // The size of the rest of this record.
            push_64(&mut directory, &[44]);
            push_16(&mut directory, &[MADE_BY, ZIP64_VERSION]);
            // The first disk, twice.
            push_64(&mut directory, &[0, entries, entries, size, offset]);
            push_32(&mut directory, &[0x0706_4b50, 0]);
            push_64(&mut directory, &[offset + size]);
            push_32(&mut directory, &[1]);
        }
        push_32(&mut directory, &[0x0605_4b50, 0]);
        push_16(&mut directory, &[entries, entries]);
        push_32(&mut directory, &[size, offset]);
        push_16(&mut directory, &[0]);
        directory
    }
}

/// The fields that both headers of an entry have: from the version to the length of the extra
/// field.
fn push_common(out: &mut Vec<u8>, entry: &Entry<'_>, extra_fields: &[u64]) {
    let Entry { name, size, crc32, time } = *entry;
    let version = if extra_fields.is_empty() { VERSION } else { ZIP64_VERSION };
    let (date, time) = dos_time(time);
    // Stored is method 0.
    push_16(out, &[version, FLAGS, 0, time.into(), date.into()]);
    push_32(out, &[crc32.into(), size, size]);
    push_16(out, &[name.len() as u64, extra(extra_fields).len() as u64]);
}

/// The ZIP64 extra field; empty without fields.
fn extra(fields: &[u64]) -> Vec<u8> {
    let mut extra = Vec::new();
    if !fields.is_empty() {
        push_16(&mut extra, &[1, 8 * fields.len() as u64]);
        push_64(&mut extra, fields);
    }
    extra
}

/// Date and time in UTC, to two seconds. The years are 1980 to 2107.
fn dos_time(time: Timestamp) -> (u16, u16) {
    let time = time.to_zoned(TimeZone::UTC).datetime();
    let number = |number: i8| u16::from(number.unsigned_abs());
    let year = time.year().clamp(1980, 2107) - 1980;
    let date = year.unsigned_abs() << 9 | number(time.month()) << 5 | number(time.day());
    let two_seconds = number(time.second()) / 2;
    (date, number(time.hour()) << 11 | number(time.minute()) << 5 | two_seconds)
}

/// A number that does not fit has all bits: the ZIP64 records have it.
fn push_16(out: &mut Vec<u8>, numbers: &[u64]) {
    let two = |number: &u64| u16::try_from(*number).unwrap_or(u16::MAX).to_le_bytes();
    out.extend(numbers.iter().flat_map(two));
}

fn push_32(out: &mut Vec<u8>, numbers: &[u64]) {
    let four = |number: &u64| u32::try_from(*number).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(numbers.iter().flat_map(four));
}

fn push_64(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use jiff::Timestamp;
    use zip::ZipArchive;

    use super::{Entry, Layout, dos_time};

    /// The headers in a file of zeros, and their places.
    struct Sparse {
        file: File,
        headers: Vec<(u64, Vec<u8>)>,
    }

    fn archive<'a>(entries: impl IntoIterator<Item = (&'a str, u64)>) -> Sparse {
        let (mut layout, mut headers, mut size) = (Layout::default(), Vec::new(), 0);
        let time = "2026-11-29T13:14:15Z".parse().unwrap();
        for (name, length) in entries {
            let header = layout.add(&Entry { name, size: length, crc32: 7, time });
            let start = size;
            size += header.len() as u64 + length;
            headers.push((start, header));
        }
        headers.push((size, layout.finish()));
        let file = tempfile::tempfile().unwrap();
        for (start, header) in &headers {
            file.write_all_at(header, *start).unwrap();
        }
        Sparse { file, headers }
    }

    fn read(sparse: Sparse) -> Vec<(String, u64, u64)> {
        let mut read = ZipArchive::new(sparse.file).unwrap();
        let all = 0..read.len();
        let entry = |number| {
            let entry = read.by_index_raw(number).unwrap();
            assert_eq!((entry.crc32(), entry.compressed_size()), (7, entry.size()));
            (entry.name().unwrap().into_owned(), entry.size(), entry.data_start().unwrap())
        };
        all.map(entry).collect()
    }

    const MOST: u64 = u32::MAX as u64;

    #[test]
    fn sizes_and_places_beyond_4_gib_are_read_back() {
        let sizes = [0, 1, MOST - 1, MOST, MOST + 1, 5, 1 << 40];
        for end in 0..=sizes.len() {
            let names: Vec<_> = (0..end).map(|number| format!("ñ/{number}")).collect();
            let entries = names.iter().map(String::as_str).zip(sizes);
            let sparse = archive(entries.clone());
            let starts: Vec<_> =
                sparse.headers.iter().map(|(start, header)| start + header.len() as u64).collect();
            let expected =
                entries.zip(starts).map(|((name, size), start)| (name.to_owned(), size, start));
            assert_eq!(read(sparse), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn any_number_of_entries_is_read_back() {
        for number in [0xfffe, 0xffff, 0x1_0000, 0x1_0001] {
            let names: Vec<_> = (0..number).map(|number| format!("{number}")).collect();
            let sparse = archive(names.iter().map(|name| (name.as_str(), 0)));
            let is_zip64 =
                sparse.headers.last().unwrap().1.windows(4).any(|it| it == b"PK\x06\x06");
            assert_eq!(is_zip64, number >= 0xffff);
            let found: Vec<_> = read(sparse).into_iter().map(|(name, ..)| name).collect();
            assert_eq!(found, names);
        }
    }

    #[test]
    fn times_are_in_utc_and_within_the_format() {
        for (time, expected) in [
            ("2026-11-29T13:14:15+08:00", (0b0101_1101_0111_1101, 0b0010_1001_1100_0111)),
            ("1969-12-31T23:59:59Z", (0b0001_1001_1111, 0b1011_1111_0111_1101)),
            ("2200-01-01T00:00:00Z", (0b1111_1110_0010_0001, 0)),
        ] {
            assert_eq!(dos_time(time.parse::<Timestamp>().unwrap()), expected, "{time}");
        }
    }
}
