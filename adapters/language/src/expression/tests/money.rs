//! Amounts of money are exact.

use super::{all_fail, all_hold, judge};

#[test]
fn decimals_are_exact() {
    all_hold(&[
        "decimal('0.1') + decimal('0.2') == decimal('0.3') && decimal(0.1) + 0.2 == 0.3 && sum([0.1, 0.2]) == 0.3",
        "decimal('12.10') == 12.1 && string(decimal('12.10')) == '12.10' && decimal(3) == 3 && decimal(decimal(1.5)) == 1.5",
        "decimal('1') / 3 * 3 < 1 && decimal('10') / 4 == 2.5 && decimal('1.1') * decimal('1.1') == decimal('1.21') && -decimal('1') == -1",
        "decimal('7922816251426433759354395033.5') > decimal('7922816251426433759354395033.4')",
        "round(decimal('2.345'), 2) == decimal('2.35') && round('-2.345', 2) == decimal('-2.35') && round(2.5, 0) == 3 && round(0.285, 2) == decimal('0.29')",
        "decimal('0.10') in [0.1, 0.2] && decimal('1') < 2 && 2.5 > decimal('2.4') && max([decimal('0.1'), 0.2]) == 0.2",
        "1e300 > decimal('1') && decimal('1') < 1e300 && decimal('1') > -1e300 && decimal('1') > 1e-300",
        "self.large > 1e19 && self.large == decimal('12345678901234567890.12')",
    ]);
    all_fail(
        "
        decimal(self.title) > 1 => is not a decimal number such as 12.10
        decimal('79228162514264337593543950335') + self.count > 0 => too large for a decimal, which has 28 digits
        decimal('7922816251426433759354395033.5') + decimal('0.01') * self.count > 0 => too large for a decimal
        decimal('79228162514264337593543950335') * self.count > 0 => too large for a decimal
        decimal(self.count) / (self.count - 3) > 0 => cannot be divided by zero
        self.large % 2 == 1 => `%` takes integers only
        round(self.budget, 30 * self.count) > 0 => round() takes 0 to 28 digits, not 90
        decimal(self.budget * 1e300) > 0 => is not a decimal of 28 digits
        ",
    );
}

#[test]
fn money_has_an_amount_and_a_currency() {
    all_hold(&[
        "amount('24500000.00 PHP') == 24500000 && currency('24500000.00 PHP') == 'PHP'",
        "string(amount('0.10 USD')) == '0.10' && amount('0.10 USD') + amount('0.20 PHP') == decimal('0.3')",
        "amount('-5 PHP') < 0 && sum(['1.50 PHP', '2.50 PHP'].map(price, amount(price))) == 4",
        "amount('79228162514264337593543950335 PHP') > amount('79228162514264337593543950334 PHP')",
    ]);
    let item = |price: &str| format!(r#"{{"price": {price}}}"#);
    for price in [
        "\"\"",
        "\"PHP\"",
        "\"1\"",
        "\"1 \"",
        "\"1 php\"",
        "\"1 PESO\"",
        "\"1PHP\"",
        "\"1  PHP\"",
        "\"1 PHP \"",
        "\"1 ₱₱₱\"",
        "\"1 ₱\"",
        "\"1,000.00 PHP\"",
        "\"1. PHP\"",
        "\"+1 PHP\"",
        "\"1e3 PHP\"",
        "\"PHP 1\"",
        "\"１ PHP\"",
        "\"79228162514264337593543950336 PHP\"",
    ] {
        for source in ["amount(self.price) > 0", "currency(self.price) == 'PHP'"] {
            let reason = judge(source, &item(price)).unwrap_err().into_reason();
            assert!(reason.contains("not an amount of money such as"), "{price}: {reason}");
        }
    }
    let long = item(&format!("\"{} PHP\"", "9".repeat(100_000)));
    assert!(judge("amount(self.price) > 0", &long).unwrap_err().into_reason().len() < 200);
    all_fail("amount(self.count) > 0 => amount() takes a string, and `self.count` is an integer");
}

#[test]
fn numbers_of_an_item_keep_their_digits() {
    for (number, holds) in [
        ("12.10", "self.n == 12.1 && decimal(self.n) == decimal('12.10')"),
        ("0.1", "decimal(self.n) * 3 == decimal('0.3')"),
        (
            "1234567890123456789012345678",
            "type(self.n) == decimal && self.n == decimal('1234567890123456789012345678')",
        ),
        ("0.1234567890123456789012345678", "self.n == decimal('0.1234567890123456789012345678')"),
        ("9223372036854775807", "type(self.n) == int && self.n == 9223372036854775807"),
        ("9223372036854775808", "type(self.n) == decimal && self.n > 9223372036854775807"),
        ("1e3", "self.n == 1000 && type(self.n) == double"),
        ("1.2345678901234567e3", "self.n == decimal('1234.5678901234567')"),
        ("-0", "self.n == 0"),
        ("1e300", "self.n > decimal('1')"),
    ] {
        assert_eq!(judge(holds, &format!(r#"{{"n": {number}}}"#)), Ok(true), "{number}");
    }
    for number in ["1e400", "12345678901234567890123456789012345", "1.2345678901234567e-300"] {
        let error = judge("self.n > 0", &format!(r#"{{"n": {number}}}"#)).unwrap_err();
        let reason = error.into_reason();
        assert!(reason.contains("more digits than rules support"), "{number}: {reason}");
    }
}

#[test]
fn score_bands_are_half_open_for_numbers_and_texts() {
    let bands = "self.band == (decimal(self.score) < 4 ? 'none' : decimal(self.score) < 8 ? 'some' : decimal(self.score) < 15 ? 'sensitive' \
                 : decimal(self.score) < 20 ? 'responsive' : 'whole')";
    for (scores, band) in [
        ("0 3.995 3.9999999999999999999999", "none"),
        ("4 4.0 7.99", "some"),
        ("8.00 14.99", "sensitive"),
        ("15 19.995", "responsive"),
        ("20 20.00", "whole"),
    ] {
        for score in scores.split(' ').flat_map(|score| [score.to_owned(), format!("\"{score}\"")])
        {
            let item = format!(r#"{{"score": {score}, "band": "{band}"}}"#);
            assert_eq!(judge(bands, &item), Ok(true), "{score}");
        }
    }
}
