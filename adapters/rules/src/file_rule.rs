//! Rule of a file, behind the interface of the domain.

use std::sync::Arc;
use std::time::Instant;

use application::Rule;
use async_trait::async_trait;
use domain::json::shortened;
use domain::{
    About, Collection, Found, Lookup, LookupKey, Pointer, Severity, Transition, Violation,
    WriteOperation,
};
use jiff::civil::Date;
use language::effective::Effective;
use language::error::Location;
use language::evaluation;
use language::expression::{
    CostLimit, EvaluationError, Expression, LookupTarget, Meter, Outcome, Scope, Shape, Variable,
    complete,
};

use crate::metrics::Verdicts;
use crate::notes::Notes;

pub(crate) const LONGEST_MESSAGE: usize = 2_000;

#[derive(Debug)]
pub struct FileRule {
    pub file: Arc<str>,
    pub(crate) place: Location,
    pub(crate) id: Box<str>,
    pub(crate) definition: Box<str>,
    pub(crate) collection: Collection,
    pub(crate) operations: Vec<WriteOperation>,
    pub(crate) severity: Severity,
    pub(crate) effective: Effective,
    pub(crate) when: Option<Expression>,
    pub(crate) check: Expression,
    pub(crate) message: Message,
    pub(crate) field: Option<RuleField>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) source: Option<Box<str>>,
    pub(crate) variables: Vec<(String, Shape)>,
    pub(crate) targets: Vec<LookupTarget>,
    pub(crate) notes: Notes,
    pub(crate) verdicts: Verdicts,
}

#[derive(Debug)]
pub(crate) struct RuleField {
    pub written: Box<str>,
    pub pointer: Pointer,
    pub place: Location,
}

#[derive(Debug)]
pub(crate) enum Message {
    Fixed(Box<str>),
    Computed { expression: Expression, source: Box<str> },
}

const fn is_whole(found: &Found) -> bool {
    matches!(found, Found::Items(_))
}

pub(crate) type Failure = (&'static str, EvaluationError);

pub(crate) enum CheckOutcome {
    Skipped,
    Passed,
    /// Message, or the error of `message_expression`.
    Failed(Outcome<String>),
}

impl FileRule {
    pub(crate) fn members_of(&self, variable: Variable) -> Vec<&str> {
        let reads = self.notes.reads.iter().filter(|read| read.of == variable);
        let mut members: Vec<_> = reads.map(|read| &*read.name).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    pub(crate) fn collection_of(&self, variable: Variable) -> Option<Collection> {
        match variable {
            Variable::After | Variable::Before => Some(self.collection),
            Variable::Lookup(index) => self.targets.get(index).map(|target| target.collection),
            _ => None,
        }
    }

    pub(crate) fn applies_to(&self, operation: WriteOperation, today: Date) -> bool {
        self.operations.contains(&operation) && self.effective.contains(today)
    }

    /// Returns the most likely operation among those that the rule judges. `is_change` is true if
    /// the item existed.
    pub(crate) fn likely_operation(&self, is_change: bool) -> WriteOperation {
        use WriteOperation::{Create, Delete, Patch, Replace};
        let judged = &self.operations;
        match is_change {
            true => {
                let likely = [Replace, Patch, Delete];
                likely.into_iter().find(|it| judged.contains(it)).unwrap_or(Replace)
            }
            false if judged[..] == [Delete] => Delete,
            false => Create,
        }
    }

    pub(crate) fn scope<'a>(&'a self, transition: &Transition<'a>) -> Scope<'a> {
        Scope {
            after: transition.after,
            before: transition.before,
            context: transition.context,
            lookups: &self.variables,
            found: transition.found,
            meta: None,
            trace: None,
        }
    }

    /// Returns the lookups that follow the results so far, up to the first whose key uses the
    /// result of one of them.
    pub(crate) fn look_up(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<Vec<Lookup>> {
        let known = scope.found.len();
        let next = self.targets.get(known..).unwrap_or_default();
        let is_guarded_off = known == 0 && !next.is_empty() && !self.holds(false, scope, meter)?;
        let mut lookups = Vec::with_capacity(next.len());
        for target in next {
            let used = target.value.lookups();
            if !is_guarded_off && used.iter().any(|(place, _)| *place >= known) {
                break;
            }
            let mut key = LookupKey::Nothing;
            if !is_guarded_off && self.have_found(&used, scope)? {
                key = target.key(scope, meter)?;
            }
            let (collection, without) = (target.collection, scope.context.id);
            lookups.push(Lookup { collection, key, without });
        }
        Ok(lookups)
    }

    /// Returns whether each of these lookups has found an item.
    fn have_found(&self, used: &[(usize, usize)], scope: &Scope<'_>) -> Outcome<bool> {
        for (place, _) in used {
            if complete(&self.variables[*place].0, scope.found.get(*place))?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evaluates the keys of all lookups with given results.
    fn evaluate_keys(&self, scope: &Scope<'_>, found: &[Found]) -> Outcome<()> {
        let (meter, mut known) = (Meter::of(CostLimit::Lookups), 0);
        while let Some(found) = found.get(..known).filter(|_| known < self.targets.len()) {
            known += self.look_up(&Scope { found, ..*scope }, &meter)?.len();
        }
        Ok(())
    }

    /// Evaluates the guard in one of two phases: before the lookups and after. Returns `true` in
    /// the other phase.
    fn holds(&self, uses_lookups: bool, scope: &Scope<'_>, meter: &Meter) -> Outcome<bool> {
        let guard = self.when.as_ref().filter(|when| when.uses_lookups == uses_lookups);
        guard.map_or(Ok(true), |guard| guard.boolean(scope, meter))
    }

    fn guard(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<bool> {
        // A rule with lookups has already traced this guard, during the evaluation of the keys.
        let trace = scope.trace.filter(|_| self.targets.is_empty());
        if !self.holds(false, &Scope { trace, ..*scope }, meter)? {
            return Ok(false);
        }
        // A truncated list decides nothing.
        for (index, (name, _)) in self.variables.iter().enumerate() {
            complete(name, scope.found.get(index))?;
        }
        self.holds(true, scope, meter)
    }

    /// Evaluates the guard, then the check, then the message of a failed check.
    pub(crate) fn judge(&self, scope: &Scope<'_>, meter: &Meter) -> Result<CheckOutcome, Failure> {
        if !self.guard(scope, meter).map_err(|error| ("when", error))? {
            return Ok(CheckOutcome::Skipped);
        }
        if self.check.boolean(scope, meter).map_err(|error| ("check", error))? {
            return Ok(CheckOutcome::Passed);
        }
        Ok(CheckOutcome::Failed(self.own_message(scope, meter)))
    }

    /// Judges a write. With `hides_reason`, the violation omits the error of the evaluation.
    fn check_by(
        &self,
        meter: &Meter,
        transition: &Transition<'_>,
        hides_reason: bool,
    ) -> Result<(), Violation> {
        let message = match self.judge(&self.scope(transition), meter) {
            Ok(CheckOutcome::Skipped | CheckOutcome::Passed) => return Ok(()),
            Ok(CheckOutcome::Failed(message)) => message,
            Err((_, error)) => return Err(self.undecided(error, hides_reason)),
        };
        Err(self.violation(&message.unwrap_or_else(|error| {
            tracing::debug!(
                rule = &*self.id,
                ?error,
                "the message of a rule could not be computed"
            );
            self.other_message()
        })))
    }

    /// Returns whether expressions see results of lookups: only if all of them are complete.
    fn knows_others(&self, found: &[Found]) -> bool {
        !self.targets.is_empty() && found.len() == self.targets.len() && found.iter().all(is_whole)
    }

    /// Builds the violation of an evaluation that failed. Its reason may quote items that the
    /// caller must not read.
    fn undecided(&self, error: EvaluationError, hides_reason: bool) -> Violation {
        let (id, reason) = (&self.id, error.into_reason());
        let why = if hides_reason {
            "; the log of the service has the reason".to_owned()
        } else {
            format!(": {reason}")
        };
        let detail = format!("the rule `{id}` could not be evaluated, so it counts as failed{why}");
        Violation { undecided: Some(reason.into()), ..self.violation(&detail) }
    }

    /// Judges the write of a case and returns the message of the violation. It logs nothing: a case
    /// may expect a failed evaluation. It hides no reason: it quotes the case only.
    pub(crate) fn judge_case(
        &self,
        transition: &Transition<'_>,
        found: &[Found],
    ) -> Result<(), String> {
        // The case supplies the results, but the keys must still evaluate.
        self.evaluate_keys(&self.scope(transition), found)
            .map_err(|error| self.undecided(error, false))
            .and_then(|()| {
                let meter = Meter::of(CostLimit::Verdict);
                self.check_by(&meter, &transition.knowing(found), false)
            })
            .map_err(|violation| violation.detail)
    }

    fn violation(&self, message: &str) -> Violation {
        let pointer = self.field.as_ref().map_or_else(Pointer::root, |field| field.pointer.clone());
        Violation::new(pointer, self.id.to_string(), shortened(message, LONGEST_MESSAGE))
    }

    fn own_message(&self, scope: &Scope<'_>, meter: &Meter) -> Outcome<String> {
        let message = match &self.message {
            Message::Fixed(message) => return Ok(message.to_string()),
            Message::Computed { expression, .. } => expression.string(scope, meter)?,
        };
        if message.trim().is_empty() {
            return Err(EvaluationError::Failed("the message is empty".to_owned()));
        }
        Ok(message)
    }

    /// Default message, if the rule's own fails.
    pub(crate) fn other_message(&self) -> String {
        format!("the rule `{}` is not met", self.id)
    }
}

#[async_trait]
impl Rule for FileRule {
    fn about(&self) -> About<'_> {
        let (message, message_expression) = match &self.message {
            Message::Fixed(message) => (Some(&**message), None),
            Message::Computed { source, .. } => (None, Some(&**source)),
        };
        About {
            code: &self.id,
            operations: &self.operations,
            severity: self.severity,
            message,
            message_expression,
            pointer: self.field.as_ref().map(|field| &*field.written),
            description: self.description.as_deref(),
            source: self.source.as_deref(),
            effective: (self.effective.from, self.effective.until),
        }
    }

    fn fields(&self) -> Vec<&str> {
        self.members_of(Variable::After)
    }

    /// Returns one lookup per target, in order. If the guard is false, all of them are empty.
    async fn lookups(&self, transition: &Transition<'_>) -> Result<Vec<Lookup>, Violation> {
        // Even an empty evaluation would use a unit of the task's cooperative budget.
        if self.targets.len() == transition.found.len() {
            return Ok(Vec::new());
        }
        let look_up = |meter: &Meter| self.look_up(&self.scope(transition), meter);
        let lookups = evaluation::run(CostLimit::Lookups, look_up).await;
        let hides_reason = transition.found.iter().any(is_whole);
        lookups.map_err(|error| self.undecided(error, hides_reason))
    }

    async fn check(&self, transition: &Transition<'_>) -> Result<(), Violation> {
        let verdicts = &self.verdicts;
        let began = Instant::now();
        let hides_reason = self.knows_others(transition.found);
        let check = |meter: &Meter| self.check_by(meter, transition, hides_reason);
        let verdict = evaluation::run(CostLimit::Verdict, check).await;
        verdicts.time.observe(began.elapsed().as_secs_f64());
        let counter = match &verdict {
            Ok(()) => &verdicts.passed,
            Err(Violation { undecided: None, .. }) => &verdicts.failed,
            Err(_) => &verdicts.undecided,
        };
        counter.inc();
        verdict
    }

    async fn applies(&self, transition: &Transition<'_>) -> bool {
        let guard = |meter: &Meter| self.guard(&self.scope(transition), meter).unwrap_or(true);
        evaluation::run(CostLimit::Verdict, guard).await
    }
}
