//! `q`: what is looked for.

use application::Search;

use super::fault::invalid;
use super::names::MOST_VALUE;
use super::parameters::Parameters;
use crate::problem::Problem;

/// Reads `q`.
///
/// # Errors
/// 400 where nothing can be looked for.
pub fn read(parameters: &Parameters<'_>) -> Result<Option<Search>, Problem> {
    let Some(written) = parameters.get("q") else { return Ok(None) };
    if written.chars().count() > MOST_VALUE {
        return Err(invalid(format!(
            "`q` has more than {MOST_VALUE} characters; look for fewer words."
        )));
    }
    let search = Search::read(written);
    search.map(Some).map_err(|fault| {
        invalid(format!("`q` {fault}; it takes words and \"phrases\" in quotation marks."))
    })
}
