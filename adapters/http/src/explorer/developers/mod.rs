//! The pages for developers: the guide, operations, problems, rules and the playground.

mod explained;
pub mod guide;
mod playground;
mod reference;
mod rules;
