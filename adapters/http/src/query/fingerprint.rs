//! A number for what a cursor depends on: the collection, and the query as far as it selects and
//! orders.

use domain::{Collection, ItemId};

use super::parameters::{FilterParameter, Parameters};

/// Differs, in all likelihood, between two queries that select or order differently. It is the same
/// in every process and every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// That of a collection's query. The order in which filters were written does not matter.
    pub fn of(collection: Collection, owner: Option<ItemId>, parameters: &Parameters<'_>) -> Self {
        let mut hash = Fnv::default();
        hash.write_part(collection.name().as_bytes());
        match owner {
            Some(owner) => hash.write_part(owner.uuid().as_bytes()),
            None => hash.write_part(&[]),
        }
        for name in ["q", "sort", "as_of"] {
            hash.write_part(parameters.get(name).unwrap_or_default().as_bytes());
        }
        let mut filters: Vec<_> = parameters.filters.iter().map(parts).collect();
        filters.sort_unstable();
        filters.into_iter().flatten().for_each(|part| hash.write_part(part.as_bytes()));
        Self(hash.finish())
    }
}

fn parts<'a>(filter: &'a FilterParameter<'_>) -> [&'a str; 3] {
    [&filter.member, filter.operator.as_deref().unwrap_or_default(), &filter.value]
}

/// FNV-1a with 64 bits: short, and no secret is kept with it.
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds bytes and where they end.
    fn write_part(&mut self, bytes: &[u8]) {
        self.write(bytes);
        self.write(&(bytes.len() as u64).to_le_bytes());
    }

    /// The hash of all that was added.
    pub const fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use domain::{Collection, ItemId};

    use super::{Fingerprint, Fnv};
    use crate::query::parameters::Parameters;

    fn of(collection: Collection, owner: Option<ItemId>, query: &str) -> Fingerprint {
        let known = ["filter", "sort", "q", "page", "page_size", "fields"];
        Fingerprint::of(collection, owner, &Parameters::read(query, &known).unwrap())
    }

    #[test]
    fn it_is_the_published_function() {
        let mut hash = Fnv::default();
        hash.write(b"foobar");
        assert_eq!(hash.finish(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn what_selects_or_orders_counts_and_nothing_else() {
        let plain = of(Collection::known("lib"), None, "");
        assert_eq!(plain, of(Collection::known("lib"), None, "page=2&page_size=5&fields=a"));
        let both = of(Collection::known("lib"), None, "filter[a]=1&filter[b]=2");
        assert_eq!(both, of(Collection::known("lib"), None, "filter[b]=2&page=3&filter%5Ba%5D=1"));
        let owner = ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8050");
        let others = [
            of(Collection::known("files"), None, ""),
            of(Collection::known("lib"), owner, ""),
            of(Collection::known("lib"), None, "sort=a"),
            of(Collection::known("lib"), None, "q=a"),
            of(Collection::known("lib"), None, "filter[a]=1"),
            of(Collection::known("lib"), None, "filter[a][ne]=1"),
            of(Collection::known("lib"), None, "filter[a1]="),
            both,
        ];
        for (index, one) in others.iter().enumerate() {
            assert!(*one != plain && !others[..index].contains(one), "{index}");
        }
    }
}
