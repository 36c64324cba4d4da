//! From source to the parser's tree.

use cel::Env;
use cel::common::ast::{IdedExpr, SourceInfo};

use super::super::{mistakes, shorten};
use super::{Compiled, error};

const MOST_SOURCE: usize = 16 << 10;
/// Stack size. The parser recurses for each term of a sum, and only the size of the source limits
/// their number.
const STACK: usize = 256 << 20;

/// Parses a source and converts its tree, on a stack that is large enough for both.
pub(super) fn read<T: Send>(
    source: &str,
    make: impl FnOnce(&IdedExpr, &SourceInfo) -> Compiled<T> + Send,
) -> Compiled<T> {
    if source.len() > MOST_SOURCE {
        return Err(error(
            MOST_SOURCE,
            format!("an expression may have at most {MOST_SOURCE} bytes, not {}", source.len()),
        ));
    }
    let on_its_own_stack = || parse(source).and_then(|(root, places)| make(&root, &places));
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, on_its_own_stack);
        let thread = thread.map_err(|cause| {
            error(0, format!("cannot start a thread to read the expression: {cause}"))
        })?;
        // The parser is generated code. A panic becomes an error of this source.
        thread.join().unwrap_or_else(|_| {
            Err(error(0, "the expression cannot be parsed; simplify it".to_owned()))
        })
    })
}

fn parse(source: &str) -> Compiled<(IdedExpr, SourceInfo)> {
    // Without macros, `has`, `all` etc. stay calls.
    let parser = Env::default().with_optional_support(false).parser();
    let parser = parser.enable_ident_escape_syntax(true).error_recovery_limit(1);
    parser.parse_with_source_info(source).map_err(|errors| {
        if let Some((offset, instead)) = mistakes::in_source(source) {
            return error(offset, format!("this is not CEL: {instead}"));
        }
        let first = errors.errors.first();
        let (line, column) = first.map_or((1, 0), |first| first.pos);
        let message = first.map_or("", |first| first.msg.as_str());
        error(offset_of(source, line, column), syntax_reason(message))
    })
}

fn offset_of(source: &str, line: isize, column: isize) -> usize {
    let (line, column) =
        (usize::try_from(line - 1).unwrap_or(0), usize::try_from(column).unwrap_or(0));
    let before: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = source.get(before..).unwrap_or_default();
    before + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

fn syntax_reason(message: &str) -> String {
    let message = message.trim_start_matches("Syntax error: ");
    if message.starts_with("OtherError") {
        return "this is not CEL: it cannot be read, perhaps because it is nested too deeply"
            .to_owned();
    }
    let message = [" expecting ", " {"]
        .iter()
        .fold(message, |message, end| message.split(end).next().unwrap_or_default());
    let message = message.replace("'<EOF>'", "the end");
    format!("this is not CEL: {}", shorten(&message))
}
