//! The functions: what they give, and how they fail.

use super::{all_fail, all_hold};

#[test]
fn texts() {
    all_hold(&[
        "'né'.size() == 2",
        "words(' one  two\\nthree ') == 3 && words('') == 0 && self.title.words() == 5",
        "lower('ÄB') == 'äb' && ' x '.trim() == 'x' && lower(self.title).contains('rice')",
        "string(12) == '12' && string(1.5) == '1.5' && string(true) == 'true' && string('a') == 'a' && string(decimal('1.50')) == '1.50'",
        "int('12') == 12 && int(3.9) == 3 && int(-3.9) == -3 && double('1.5') == 1.5 && bool('true') && !bool('false')",
        "int(decimal('3.9')) == 3 && double(3) == 3.0 && double(decimal('0.5')) == 0.5",
    ]);
    all_fail(
        "
        int(self.title) == 1 => is not an integer
        double(self.title) == 1.0 => is not a number
        bool(self.title) => is neither true nor false
        int(self.budget * 1e300) == 1 => too large for an integer
        ",
    );
}

#[test]
fn regular_expressions() {
    all_hold(&[
        "self.lead.mail.matches('^[^@]+@[^@]+$') && !self.title.matches('^x') && matches('abc', 'b')",
        "'Ä9'.matches('^\\\\w\\\\d$') && 'ÄB'.matches('(?i)äb') && 'a-b'.matches(r'(?-u:\\b)b')",
        "'2026-01-31'.matches(r'^\\d{4}-\\d{2}-\\d{2}$')",
    ]);
    all_fail(
        "
        self.count.matches('x') => matches() takes a string, and `self.count` is an integer
        ",
    );
}

#[test]
fn identifiers() {
    all_hold(&[
        "orcid('0000-0002-1825-0097') && !orcid('0000-0002-1825-0098') && !orcid(self.title)",
        "orcid('https://orcid.org/0000-0002-1694-233X') && ror('https://ror.org/05dxps055') && !ror('05dxps056')",
        "doi('10.1000/182') && doi('doi:10.1000/182') && doi('https://doi.org/10.1000/182') && !doi('10.1000')",
    ]);
    all_fail(
        "
        orcid(self.count) => orcid() takes a string, and `self.count` is an integer
        doi(self.nothing) => doi() takes a string
        ",
    );
}

#[test]
fn days() {
    all_hold(&[
        "days_between('2026-01-31', '2026-03-01') == 29 && days_between('2026-03-01', '2026-01-31') == -29",
        "days_between('0001-01-01', '9999-12-31') == 3652058",
        "months_between('2026-01-31', '2026-02-28') == 1 && months_between('2026-01-31', '2026-02-27') == 0",
        "months_between('2026-02-27', '2026-01-31') == 0 && months_between('2028-03-15', '2026-03-15') == -24",
        "months_between(self.start_date, self.end_date) == 10",
        "add_days('2026-12-31', 1) == '2027-01-01' && add_days('2026-01-01', -1) == '2025-12-31'",
        "add_months('2026-01-31', 1) == '2026-02-28' && add_months('2024-02-29', 12) == '2025-02-28' && add_months('2026-01-31', -1) == '2025-12-31'",
        "is_date('2026-02-28') && !is_date('2026-02-29') && !is_date('2026-2-28') && !is_date('20260228') && !is_date('2026-W10-1')",
        "date(now) == '2026-02-01' && today == date(now)",
    ]);
    all_fail(
        "
        days_between(self.title, today) > 0 => is not a date of the form YYYY-MM-DD
        days_between(self.count, today) > 0 => days_between() takes a string, and `self.count` is an integer
        add_days(today, 9223372036854775807 - self.count) == '' => beyond the years 0000 to 9999
        add_months(today, 1000000 * self.count) == '' => beyond the years 0000 to 9999
        ",
    );
}

#[test]
fn times() {
    all_hold(&[
        "timestamp('2026-02-01T12:30:00Z') == now && timestamp(0) == timestamp('1970-01-01T00:00:00Z') && int(now) == 1769949000",
        "duration('1h30m') == duration('90m') && duration('1.5h') == duration('90m') && -duration('1h') < duration('0s')",
        "now - timestamp('2026-02-01T11:30:00Z') == duration('1h') && now + duration('1h') > now && duration('1h') + now > now",
        "string(now) == '2026-02-01T12:30:00Z' && string(duration('1.000000001s')) == '1.000000001s'",
        "timestamp('9999-12-31T23:59:59Z') > now && date(timestamp('9999-12-31T23:59:59Z')) == '9999-12-31'",
        "timestamp('2026-01-31T23:59:59.5+08:00') == timestamp('2026-01-31T15:59:59.500Z')",
        "now.getHours('Asia/Manila') == 20 && now.getHours('-01:30') == 11 && now.getMinutes('05:45') == 15",
        "timestamp('9999-12-31T23:59:59Z').getHours('UTC') == 23 && now.getMilliseconds() == 0",
    ]);
    all_fail(
        "
        timestamp(self.title) > now => is not a time such as
        duration(self.title) > duration('1h') => is not a duration such as
        timestamp(self.count * 1000000000000) > now => beyond the range of times
        timestamp('9999-12-31T23:59:59Z') + duration('1s') > now => beyond the range of times
        timestamp('0001-01-01T00:00:00Z') - duration('1s') > now => beyond the range of times
        duration('2500000h') + duration('2500000h') > duration('1h') => beyond the range of times
        now.getHours(self.title) > 1 => is not a time zone such as Asia/Manila or +08:00
        duration('1h').getHours(self.title) == 1 => a timestamp is needed here, not a duration
        ",
    );
}

#[test]
fn lists() {
    all_hold(&[
        "sum([1, 2.5, '3.25', decimal('0.25')]) == 7 && sum([]) == 0 && self.amounts.sum() == decimal('6.75')",
        "min([3, 1.5, 2]) == 1.5 && max(['a', 'c', 'b']) == 'c' && self.tags.max() == 'rice' && max([decimal('1'), 2]) == 2",
        "unique(self.tags) == ['rice', 'feed'] && size(unique([1, 1.0, 2])) == 2 && unique([]) == []",
        "latest(self.tags) == 'rice' && latest([]) == null && latest(lib).size == 2 && latest(lib.filter(x, x.size < 2)).size == 1",
    ]);
    all_fail(
        r#"
        sum(self.tags) > 0 => the string "rice" is not a decimal number
        sum([1, null]) > 0 => a number or a string that is one is needed here, not null
        min([]) == 1 => min() of an empty list
        max(self.amounts) == 1 => max() cannot order a string and a double
        "#,
    );
}
