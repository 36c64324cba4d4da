//! A hash of the collection and of the query parameters on which a cursor depends.

use domain::{Collection, ItemId};
use sha2::{Digest, Sha256};

use super::parameters::Parameters;
use crate::hash::first_64_bits;

/// The same in every process and every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The order of filters does not matter.
    pub fn of(collection: Collection, parent: Option<ItemId>, parameters: &Parameters) -> Self {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(part);
            hash.update((part.len() as u64).to_be_bytes());
        };
        add(collection.name().as_bytes());
        add(parent.map(ItemId::uuid).as_ref().map_or(&[], |id| id.as_bytes()));
        for name in ["q", "sort", "as_of"] {
            add(parameters.get(name).unwrap_or_default().as_bytes());
        }
        let filters = parameters.filters.iter();
        let mut filters: Vec<_> = filters
            .map(|filter| {
                [&*filter.member, filter.operator.as_deref().unwrap_or_default(), &*filter.value]
            })
            .collect();
        filters.sort_unstable();
        filters.iter().flatten().for_each(|part| add(part.as_bytes()));
        Self(first_64_bits(hash))
    }
}

#[cfg(test)]
mod tests {
    use domain::{Collection, ItemId};

    use super::Fingerprint;
    use crate::query::parameters::Parameters;

    fn of(collection: Collection, parent: Option<ItemId>, query: &str) -> Fingerprint {
        let known = ["filter", "sort", "q", "page", "page_size", "fields"];
        Fingerprint::of(collection, parent, &Parameters::read(query, &known).unwrap())
    }

    #[test]
    fn it_is_the_same_in_every_version_of_the_service() {
        assert_eq!(of(Collection::known("lib"), None, ""), Fingerprint(0x43e3_f08f_ffa9_0d75));
    }

    #[test]
    fn what_selects_or_orders_counts_and_nothing_else() {
        let plain = of(Collection::known("lib"), None, "");
        assert_eq!(plain, of(Collection::known("lib"), None, "page=2&page_size=5&fields=a"));
        let both = of(Collection::known("lib"), None, "filter[a]=1&filter[b]=2");
        assert_eq!(both, of(Collection::known("lib"), None, "filter[b]=2&page=3&filter%5Ba%5D=1"));
        let parent = ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8050");
        let others = [
            of(Collection::known("files"), None, ""),
            of(Collection::known("lib"), parent, ""),
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
