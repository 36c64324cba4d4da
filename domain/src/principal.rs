use jiff::Timestamp;

use crate::Members;
use crate::json::{encode_string, push_string};

/// A known caller: a person, a program, or the service itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The identifier in the change log. Its prefix up to the first colon names the issuer, as in
    /// `agency:1f0c`, `key:nightly-export` and `service:seed`.
    pub id: Box<str>,
    /// The display name. It may change, so no decision depends on it.
    pub name: Option<Box<str>>,
    pub roles: Box<[Box<str>]>,
    /// The `caller` of expressions: the id, the roles and the attributes.
    pub described: Members,
    /// The program in use, by the issuer's name for it.
    pub client: Option<Box<str>>,
    /// The party that acts for the principal (RFC 8693 section 4.1).
    pub acting: Option<Box<str>>,
    /// The operations granted to the client. They only limit the principal's rights.
    pub granted: Operations,
    pub expires: Option<Timestamp>,
}

impl Principal {
    /// The fixed members of `caller` in expressions. Attributes must not have these names.
    pub const RESERVED: [&str; 4] = ["id", "roles", "acting", "client"];

    pub fn named(id: impl Into<Box<str>>) -> Self {
        Self::with(id.into(), Box::default(), &Members::default(), (None, None))
    }

    /// Omits attributes with a reserved name.
    pub fn with(
        id: Box<str>,
        roles: Box<[Box<str>]>,
        attributes: &Members,
        (acting, client): (Option<Box<str>>, Option<Box<str>>),
    ) -> Self {
        let strings: Vec<_> = roles.iter().map(|role| encode_string(role)).collect();
        let mut text = format!("{{\"id\":{},\"roles\":[{}]", encode_string(&id), strings.join(","));
        let mut add = |name: &str, encoded: &str| {
            text.push(',');
            push_string(&mut text, name);
            text.push(':');
            text.push_str(encoded);
        };
        for (name, value) in [("acting", &acting), ("client", &client)] {
            if let Some(value) = value {
                add(name, &encode_string(value));
            }
        }
        for (name, value) in attributes.iter() {
            if !Self::RESERVED.contains(&&*name) {
                add(&name, value.encoded());
            }
        }
        text.push('}');
        let described = Members::read(text.as_bytes()).ok().flatten().unwrap_or_default();
        let (name, granted, expires) = (None, Operations::ALL, None);
        Self { id, name, roles, described, client, acting, granted, expires }
    }

    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| **own == *role)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    Read,
    History,
    Create,
    Replace,
    Patch,
    Delete,
}

impl Operation {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::History, Self::Create, Self::Replace, Self::Patch, Self::Delete];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::History => "history",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// Returns `true` if the operation needs an existing item, which the caller must be able to
    /// read.
    pub const fn needs_read(self) -> bool {
        match self {
            Self::Read | Self::Create => false,
            Self::History | Self::Replace | Self::Patch | Self::Delete => true,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operations(u8);

impl Operations {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self((1 << Operation::ALL.len()) - 1);

    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & operation.bit() != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Removes operations that need `read` if `read` is missing.
    pub fn performable(self) -> Self {
        let can_read = self.contains(Operation::Read);
        self.iter().filter(|operation| can_read || !operation.needs_read()).collect()
    }

    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| self.contains(*operation))
    }
}

impl FromIterator<Operation> for Operations {
    fn from_iter<T: IntoIterator<Item = Operation>>(operations: T) -> Self {
        Self(operations.into_iter().fold(0, |bits, operation| bits | operation.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Operations, Principal};
    use crate::Members;

    #[test]
    fn nothing_can_be_done_with_an_item_that_cannot_be_read() {
        use Operation::{Create, Delete, History, Patch, Read};
        let of = |operations: &[Operation]| operations.iter().copied().collect::<Operations>();
        for (operations, performable) in [
            (&[][..], &[][..]),
            (&[Create, History, Patch, Delete], &[Create]),
            (&[Read, Patch], &[Read, Patch]),
        ] {
            assert_eq!(of(operations).performable(), of(performable));
        }
        assert_eq!(Operations::ALL.performable(), Operations::ALL);
    }

    #[test]
    fn expressions_see_the_id_the_roles_and_the_attributes() {
        let attributes =
            Members::read(br#"{"id":"x","agency":"A \"1\"","level":3}"#).unwrap().unwrap();
        let (id, roles) = ("agency:1".into(), Box::from(["reviewer".into()]));
        let principal = Principal::with(id, roles, &attributes, (Some("agency:2".into()), None));
        assert_eq!(
            principal.described.encoded(),
            r#"{"id":"agency:1","roles":["reviewer"],"acting":"agency:2","agency":"A \"1\"","level":3}"#
        );
        assert!(principal.has_role("reviewer") && !principal.has_role("agency"));
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let set: Operations = [Operation::Read, Operation::Delete].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Operation::Read, Operation::Delete]);
        assert!(Operations::ALL.without(set).intersection(set).is_empty());
        assert_eq!(Operations::ALL.without(set).union(set), Operations::ALL);
        assert_eq!(Operations::ALL.iter().count(), Operation::ALL.len());
    }
}
