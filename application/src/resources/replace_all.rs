//! The validation of a collection's replacement, as one write.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Item, ItemId, Members, Pointer, Verdict, Violation, Violations};
use futures_lite::future::yield_now;

use super::ResourceService;
use super::validate::{ProposedItem, draft_element, named_id};
use crate::ports::{CollectionContent, ReadDependency};
use crate::{ApplicationError, ItemAddress, Result, WriteOptions};

/// The elements validated before the task yields.
const ELEMENTS_AT_A_TIME: usize = 32;

#[derive(Clone, Debug)]
pub struct ReplacementBody {
    /// Each element's place and members; `None` for an element that is no object.
    pub elements: Vec<(Pointer, Option<Members>)>,
}

pub(super) struct Judged {
    pub content: CollectionContent,
    /// The resulting items, each with its references.
    pub items: Vec<(Item, Vec<Option<ItemId>>)>,
    pub warnings: Violations,
    pub read_set: Vec<ReadDependency>,
}

impl ResourceService {
    /// Judges every element, and the removal of every other item. If rules judge removals, the
    /// collection must not change before the write. `content` is empty at first.
    pub(super) async fn judge_all(
        &self,
        options: &WriteOptions,
        body: &ReplacementBody,
        mut content: CollectionContent,
    ) -> Result<Judged> {
        let named: Vec<_> =
            body.elements.iter().filter_map(|(_, element)| named_id(element.as_ref()?)).collect();
        let elements = self.drafts(body, &named).await?;
        let mut decision = self.decision();
        if decision.has_rules() {
            let now = decision.now;
            let items = elements.iter().flatten().map(|it| it.item(&options.caller, now)).collect();
            decision = decision.writing(items, true);
        }
        let mut verdict = Verdict::default();
        let mut items = Vec::with_capacity(body.elements.len());
        for (index, ((pointer, _), element)) in body.elements.iter().zip(elements).enumerate() {
            let element = match element {
                Ok(element) => element,
                Err(violation) => {
                    verdict.errors.extend_below(pointer, violation.into());
                    continue;
                }
            };
            let unjudged = element.item(&options.caller, decision.now);
            let (operation, ProposedItem { address, before, draft }) =
                (element.operation(), element);
            let write_context = decision.context(&options.caller, operation, address);
            let (before_it, drafted) = (before.as_ref(), (&draft, None));
            let said = self.judge(&write_context, before_it, drafted, &mut decision).await?;
            verdict.warnings.extend_below(pointer, said.warnings);
            verdict.errors.extend_below(pointer, said.errors);
            let addition = self.new_item(address.id, draft.after, None);
            let item = Item { members: Arc::clone(&addition.members), ..unjudged };
            items.push((item, addition.references.clone()));
            match before {
                Some(shown) => content.replacements.push(addition.in_place_of(&shown.item)),
                None => content.additions.push(addition),
            }
            if index % ELEMENTS_AT_A_TIME == 0 {
                yield_now().await;
            }
        }
        if decision.judges_removals() {
            let related = &content.related;
            let revision = self.ports.items.totals(&self.everything(), related).await?.revision;
            self.judge_removals(&options.caller, &named, &mut verdict, &mut decision).await?;
            // The replaced revision must be the one that the condition was compared with.
            content.expected = Some(content.expected.unwrap_or(revision));
        }
        if !verdict.errors.is_empty() {
            return Err(ApplicationError::Invalid(verdict.errors));
        }
        let (warnings, read_set) = (verdict.warnings, decision.into_read_set());
        Ok(Judged { content, items, warnings, read_set })
    }

    /// Returns the draft of each element, or the errors that prevent its identification.
    async fn drafts(
        &self,
        body: &ReplacementBody,
        named: &[ItemId],
    ) -> Result<Vec<Result<ProposedItem, Violation>>> {
        let known = self.ports.items.find_many(&self.everything(), named).await?;
        let mut known: HashMap<_, _> =
            known.into_iter().map(|shown| (shown.item.id, Some(shown))).collect();
        let mut elements = Vec::with_capacity(body.elements.len());
        for (_, element) in &body.elements {
            let drafted = draft_element(self.collection, element.as_ref(), &mut known);
            elements.push(drafted.map(|(before, draft)| {
                let id =
                    before.as_ref().map_or_else(|| self.ports.ids.next_id(), |shown| shown.item.id);
                ProposedItem { address: ItemAddress { parent: None, id }, before, draft }
            }));
        }
        Ok(elements)
    }
}
