//! Constructors that simplify, so that equal conditions become equal predicates.

use super::{Predicate, Related};

impl Predicate {
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, false)
    }

    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, true)
    }

    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Constant(holds) => Self::Constant(!holds),
            Self::Not(part) => *part,
            part => Self::Not(Box::new(part)),
        }
    }

    pub fn related(related: Related) -> Self {
        let never = related.holds == Self::FALSE || related.latest == Some(Self::FALSE);
        if never { Self::FALSE } else { Self::Related(Box::new(related)) }
    }

    /// Joins parts by OR if `decisive` is true, and by AND otherwise. One decisive part decides, as
    /// do a part and its negation.
    fn join(parts: impl IntoIterator<Item = Self>, decisive: bool) -> Self {
        let mut joined: Vec<Self> = Vec::new();
        for part in parts {
            let inner = match (part, decisive) {
                (Self::Constant(holds), _) if holds == decisive => return Self::Constant(decisive),
                (Self::Constant(_), _) => continue,
                (Self::Any(inner), true) | (Self::All(inner), false) => inner,
                (part, _) => vec![part],
            };
            for part in inner {
                if joined.contains(&part) {
                    continue;
                }
                if joined.contains(&part.clone().negated()) {
                    return Self::Constant(decisive);
                }
                joined.push(part);
            }
        }
        match (joined.len(), decisive) {
            (0, _) => Self::Constant(!decisive),
            (1, _) => joined.swap_remove(0),
            (_, true) => Self::Any(joined),
            (_, false) => Self::All(joined),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Predicate;
    use crate::predicate::{Operand, Test};

    fn exists(name: &str) -> Predicate {
        Predicate::Test(Operand::member(name), Test::Exists)
    }

    #[test]
    fn constants_duplicates_and_opposites_disappear() {
        let (a, b) = (exists("a"), exists("b"));
        for (predicate, expected) in [
            (Predicate::all([]), Predicate::TRUE),
            (Predicate::any([]), Predicate::FALSE),
            (a.clone().and(Predicate::TRUE), a.clone()),
            (a.clone().and(Predicate::FALSE), Predicate::FALSE),
            (a.clone().or(a.clone()), a.clone()),
            (a.clone().or(a.clone().negated()), Predicate::TRUE),
            (a.clone().negated().and(a.clone()), Predicate::FALSE),
            (a.clone().negated().negated(), a.clone()),
            (
                a.clone().or(b.clone()).or(exists("c")),
                Predicate::Any(vec![a.clone(), b.clone(), exists("c")]),
            ),
            (a.clone().or(b.clone()).or(b.clone().negated()), Predicate::TRUE),
        ] {
            assert_eq!(predicate, expected);
        }
    }
}
