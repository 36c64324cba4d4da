//! Preconditions (RFC 9110 section 13), without their headers.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named<T> {
    /// Any existing version.
    Any,
    OneOf(Vec<T>),
}

impl<T: PartialEq> Named<T> {
    pub fn includes(&self, current: &T) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(named) => named.contains(current),
        }
    }
}

/// A client's conditions on an item's version or on a collection's revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition<T> {
    /// It must be at one of these.
    pub is: Option<Named<T>>,
    /// It must be at none of these.
    pub is_not: Option<Named<T>>,
}

impl<T> Precondition<T> {
    pub const NONE: Self = Self { is: None, is_not: None };

    pub const fn one_of(named: Vec<T>) -> Self {
        Self { is: Some(Named::OneOf(named)), is_not: None }
    }

    pub const fn is_conditional(&self) -> bool {
        self.is.is_some() || self.is_not.is_some()
    }
}

impl<T: PartialEq> Precondition<T> {
    /// A state that may be absent.
    pub(crate) fn excludes_optional(&self, current: Option<&T>) -> bool {
        current.map_or(self.is.is_some(), |current| self.excludes(current))
    }

    pub(crate) fn excludes(&self, current: &T) -> bool {
        self.is.as_ref().is_some_and(|named| !named.includes(current))
            || self.is_not.as_ref().is_some_and(|named| named.includes(current))
    }
}
