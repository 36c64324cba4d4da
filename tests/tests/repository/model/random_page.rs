//! Random pages, and the items that the model has on them.

use std::cmp::Ordering;
use std::sync::Arc;

use application::query::{
    Comparison, Condition, Filter, MemberNames, Operand, PageQuery, PageStart, Search, Selection,
    SortKey, SortPosition, Subject,
};
use application::{Reach, Scope};
use domain::predicate::{self, Literal, Related, RelatedKey, RelatedValue, Test, ValueKind};
use domain::proposal::FIELDS;
use domain::{Collection, Fields, ItemId, Predicate};
use fastrand::Rng;
use jiff::Timestamp;
use serde_json::Value;
use tests::random_query::{self, OPERANDS, in_order, one};

use super::body::{ODD_NAME, WORDS};
use super::state::Model;

/// A selection and an order, in the words of the port and in those of the model.
#[derive(Clone, Debug)]
pub struct RandomPage {
    pub scope: Scope,
    /// The condition of the reach.
    only: Option<Arc<Predicate>>,
    filters: Vec<random_query::Filter>,
    /// A subject, a comparison, and the time that is compared with.
    times: Vec<(Subject, Comparison, Timestamp)>,
    pub search: Option<Search>,
    order: Vec<SortKey>,
    fields: Option<MemberNames>,
    pub is_counted: bool,
}

/// A place in an order: the values of its keys, and the item that is or was there.
pub type Place = (Vec<Value>, ItemId);

impl RandomPage {
    pub fn random(random: &mut Rng, model: &Model, scope: Scope) -> Self {
        let count = random.usize(..3);
        let filters = (0..count).filter_map(|_| random_filter(random, scope.collection)).collect();
        let is_timed = random.u8(..5) == 0 && !model.log.is_empty();
        let times = if is_timed { vec![random_time(random, model)] } else { Vec::new() };
        let search = (random.u8(..6) == 0).then(|| random_search(random));
        let names = ["y", "x", ODD_NAME, "research_type", "nothing"].map(Arc::<str>::from);
        let fields = &names[..random.usize(..=names.len())];
        Self {
            scope,
            only: (random.u8(..3) == 0).then(|| Arc::new(random_condition(random))),
            filters,
            times,
            fields: (random.bool() && search.is_none()).then(|| fields.to_vec().into()),
            search,
            order: random_order(random, scope.collection),
            is_counted: random.u8(..4) > 0,
        }
    }

    /// All items of a scope, whole, in the order of their ids.
    pub const fn everything(scope: Scope) -> Self {
        Self {
            scope,
            only: None,
            filters: Vec::new(),
            times: Vec::new(),
            search: None,
            order: Vec::new(),
            fields: None,
            is_counted: true,
        }
    }

    pub fn query(&self, position: PageStart, limit: u64) -> PageQuery {
        let collection = self.scope.collection;
        let filters = self.filters.iter().filter_map(|filter| filter_of(collection, filter));
        let times = self.times.iter().map(|(subject, comparison, time)| {
            let operand = Operand::read(subject, &time.to_string()).unwrap();
            Filter { subject: subject.clone(), condition: Condition::Compare(*comparison, operand) }
        });
        PageQuery {
            selection: Selection {
                filters: filters.chain(times).collect(),
                search: self.search.clone(),
            },
            order: self.order.clone(),
            position,
            limit,
            fields: self.fields.clone(),
            is_counted: self.is_counted,
            count_by: None,
            related: collection.referenced().filter(|other| *other != collection).collect(),
        }
    }

    pub fn reach(&self) -> Reach {
        let all = Reach::of_the_service(self.scope);
        self.only.iter().fold(all, |reach, only| reach.only(Arc::clone(only)))
    }

    pub fn by_score(self) -> Self {
        Self { order: vec![SortKey { subject: Subject::Score, descending: true }], ..self }
    }

    pub fn members(&self, model: &Model, id: ItemId) -> Arc<str> {
        let body = model.body(id).expect("it exists");
        self.fields.as_ref().map_or_else(|| body.encoded.clone(), |fields| body.fields(fields))
    }

    pub fn naive(&self, model: &Model) -> Vec<Place> {
        let ids = model.ids(self.scope).into_iter();
        let selected = ids.filter(|id| self.selects(model, *id));
        let mut places: Vec<_> = selected.map(|id| (self.keys(model, id), id)).collect();
        places.sort_by(|left, right| self.compare(left, right));
        places
    }

    fn selects(&self, model: &Model, id: ItemId) -> bool {
        let body = model.body(id).expect("it exists");
        let mut terms = self.search.iter().flat_map(|search| &search.terms);
        let item = || model.find(self.scope, id).expect("it exists");
        self.only.as_ref().is_none_or(|condition| model.judge(condition, &item()))
            && self.filters.iter().all(|filter| filter.holds(&body.value[filter.member.as_str()]))
            && terms.all(|term| body.has_words(term))
            && self.times.iter().all(|(subject, comparison, time)| {
                let own = value(model, id, subject).as_i64().expect("a time");
                let order = own.cmp(&time.as_microsecond());
                match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::AtMost => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::AtLeast => order.is_ge(),
                }
            })
    }

    fn keys(&self, model: &Model, id: ItemId) -> Vec<Value> {
        self.order.iter().map(|key| value(model, id, &key.subject)).collect()
    }

    pub fn compare(&self, left: &Place, right: &Place) -> Ordering {
        // No two items have the same id, so what comes after it in an order does not count.
        let id = self.order.iter().position(|key| key.subject == Subject::Id);
        let order = &self.order[..id.map_or(self.order.len(), |id| id + 1)];
        let pairs = order.iter().zip(left.0.iter().zip(&right.0));
        let keys = pairs.map(|(key, (left, right))| in_order(left, right, key.descending));
        keys.fold(Ordering::Equal, Ordering::then).then_with(|| left.1.cmp(&right.1))
    }
}

/// A page from which a later step may continue.
#[derive(Clone, Debug)]
pub struct Bookmark {
    pub page: RandomPage,
    pub position: SortPosition,
    pub place: Place,
}

fn value(model: &Model, id: ItemId, subject: &Subject) -> Value {
    let (_, record) = model.records().find(|(own, _)| *own == id).expect("there is such an item");
    let time = |index: usize| Value::from(record.versions[index].0.time.as_microsecond());
    match subject {
        Subject::Id => id.to_string().into(),
        Subject::CreatedAt => time(0),
        Subject::UpdatedAt => time(record.versions.len() - 1),
        Subject::Score => Value::Null,
        Subject::Member { name, .. } => model.body(id).expect("it exists").value[&**name].clone(),
    }
}

pub fn subject(collection: Collection, name: &str) -> Subject {
    let field = FIELDS.iter().find(|field| field.name == name);
    let is_typed = matches!(collection.spec().fields, Fields::Typed(_));
    let kind = field.filter(|_| is_typed).map(|field| field.kind);
    Subject::Member { name: name.into(), kind }
}

/// A condition on the item alone, or on others, which come and go.
pub fn random_condition(random: &mut Rng) -> Predicate {
    let x = || predicate::Operand::member("x");
    let creator = predicate::Operand::current(predicate::Subject::CreatedBy);
    let id = || predicate::Operand::current(predicate::Subject::Id);
    let related = |name, key, operand, latest, holds| {
        let (collection, value) = (Collection::known(name), RelatedValue::Operand(operand));
        Predicate::related(Related { collection, key, value, latest, holds })
    };
    let has_x = Predicate::Test(x(), Test::Exists);
    let is_text = Predicate::is(x(), ValueKind::String);
    let is_anas = Predicate::equals(creator, Literal::String("ana".into()));
    match random.u8(..8) {
        0 => is_anas,
        1 => is_anas.negated(),
        2 => has_x,
        3 => related("lib", RelatedKey::Parent, id(), None, has_x),
        4 => related("lib", RelatedKey::Parent, id(), Some(has_x), is_text).or(is_anas),
        5 => related("status", RelatedKey::Member("subject".into()), x(), None, Predicate::TRUE),
        6 => related(
            "cashprogram",
            RelatedKey::Member("proposal_id".into()),
            id(),
            Some(Predicate::TRUE),
            has_x,
        )
        .negated(),
        _ => related(
            "proposals",
            RelatedKey::Id,
            predicate::Operand::member("proposal_id"),
            None,
            is_text,
        ),
    }
}

fn random_filter(random: &mut Rng, collection: Collection) -> Option<random_query::Filter> {
    let own: &[&str] = match collection.name() {
        "proposals" => &["research_type", "researcher_id", "start_date", "program_id"],
        "status" => &["subject"],
        _ => &["y"],
    };
    let name = if random.bool() { "x" } else { one(random, own) };
    let operands: &[&str] = match name {
        "x" | "y" | "subject" => OPERANDS,
        "start_date" => &["2026-01-01", "2026-06-30", "2026-12-31"],
        "researcher_id" | "program_id" => &["7", "12", "R-1", "8"],
        _ => &["Applied", "Basic", "Ñandú", "B"],
    };
    let filter = random_query::Filter::random(random, name, operands);
    filter_of(collection, &filter).map(|_| filter)
}

/// The filter of the port; `None` where the subject takes no such operand.
fn filter_of(collection: Collection, filter: &random_query::Filter) -> Option<Filter> {
    let subject = subject(collection, &filter.member);
    let read = |written: &str| Operand::read(&subject, written).ok();
    let compare =
        |comparison| read(&filter.operand).map(|operand| Condition::Compare(comparison, operand));
    let condition = match filter.operator {
        "" | "eq" => compare(Comparison::Equal),
        "ne" => compare(Comparison::NotEqual),
        "lt" => compare(Comparison::Less),
        "lte" => compare(Comparison::AtMost),
        "gt" => compare(Comparison::Greater),
        "gte" => compare(Comparison::AtLeast),
        "in" => filter.operand.split(',').map(read).collect::<Option<_>>().map(Condition::In),
        "contains" => Some(Condition::Contains(filter.operand.as_str().into())),
        _ => Some(Condition::Exists(filter.operand == "true")),
    };
    condition.map(|condition| Filter { subject: subject.clone(), condition })
}

fn random_time(random: &mut Rng, model: &Model) -> (Subject, Comparison, Timestamp) {
    let subject = if random.bool() { Subject::UpdatedAt } else { Subject::CreatedAt };
    let comparisons = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::AtLeast,
    ];
    let time = random.choice(&model.log).expect("there are changes").time;
    (subject, random.choice(comparisons).expect("there are some"), time)
}

fn random_search(random: &mut Rng) -> Search {
    let words: Vec<_> = (0..random.usize(1..3)).map(|_| one(random, WORDS)).collect();
    let words = words.join(" ");
    let written = match random.u8(..3) {
        0 => format!("\"{words}\""),
        1 => format!("{}*", &words[..words.len() - 2]),
        _ => words,
    };
    Search::read(&written).expect("words")
}

fn random_order(random: &mut Rng, collection: Collection) -> Vec<SortKey> {
    let mut order: Vec<SortKey> = Vec::new();
    for _ in 0..random.usize(..3) {
        let subject = match random.u8(..8) {
            0 => Subject::Id,
            1 => Subject::CreatedAt,
            2 | 3 => Subject::UpdatedAt,
            4 => subject(collection, one(random, &["y", "start_date", "research_type"])),
            5 => subject(collection, one(random, &["subject", "researcher_id", "nothing"])),
            _ => subject(collection, "x"),
        };
        if order.iter().all(|key| key.subject != subject) {
            order.push(SortKey { subject, descending: random.bool() });
        }
    }
    order
}
