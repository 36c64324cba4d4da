//! Equalities of two names, read from the source without evaluation.

use cel::common::ast::{Expr, IdedExpr, operators as signs};

use super::super::ExpressionError;
use super::source;

/// Returns both sides of an equality of two names, such as `meta.created_by == caller.id`; `None`
/// for other expressions. The names need not be variables.
pub fn equal_names(source: &str) -> Result<Option<[String; 2]>, ExpressionError> {
    source::read(source, |root, _| {
        Ok(match &root.expr {
            Expr::Call(call) if call.func_name == signs::EQUALS => match &call.args[..] {
                [left, right] => name(left).zip(name(right)).map(Into::into),
                _ => None,
            },
            _ => None,
        })
    })
}

fn name(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", name(&select.operand)?, select.field))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::equal_names;

    #[test]
    fn an_equality_of_names_is_read_however_it_is_written() {
        let sides = Some(["meta.created_by".to_owned(), "caller.id".to_owned()]);
        for source in ["meta.created_by == caller.id", "( meta . created_by==(caller.id) ) // own"]
        {
            assert_eq!(equal_names(source), Ok(sides.clone()), "{source}");
        }
        for source in [
            "a.b",
            "a != b",
            "a == 'b'",
            "!(a == b)",
            "a == b && true",
            "has(a.b) == c",
            "a == b == c",
            "a['b'] == c",
        ] {
            assert_eq!(equal_names(source), Ok(None), "{source}");
        }
        assert!(equal_names("a ==").is_err());
    }
}
