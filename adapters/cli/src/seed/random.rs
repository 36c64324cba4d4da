//! Chance that can be repeated.

use fastrand::Rng;

/// The random numbers of one row. They follow from its place alone, so that rows are the same in
/// whatever order they are made.
pub fn of_row(seed: u64, proposal: u64, item: u64) -> Rng {
    Rng::with_seed(scramble(scramble(scramble(seed) ^ proposal) ^ item))
}

/// One of the choices, all equally likely. There must be one.
pub fn pick<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

/// Whether something happens that does so in `percent` of all cases.
pub fn happens(random: &mut Rng, percent: u8) -> bool {
    random.u8(..100) < percent
}

/// A number from the standard normal distribution (Box and Muller's transform).
pub fn normal(random: &mut Rng) -> f64 {
    // In (0, 1]: zero has no logarithm.
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// The finishing step of `SplitMix64`: neighbouring numbers become unrelated ones.
const fn scramble(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
