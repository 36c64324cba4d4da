//! Business rules in files: expressions of the Common Expression Language (CEL), behind the port of the rule book.

#[cfg_attr(not(test), allow(dead_code, reason = "the reader of rule files uses it"))]
mod expression;
