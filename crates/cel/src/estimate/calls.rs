//! Cost of calls: the functions of the standard library and of cel-go's extensions.

use super::{Argument, Entries, Estimator, PathId, Range, ZERO, kubernetes};
use crate::ast::{Expr, ExprId, Literal};

/// The cost of traversing one character or byte.
pub(super) const PER_CHARACTER: f64 = 0.1;

/// The cost of one character of a regular expression.
pub(super) const PER_REGEX_CHARACTER: f64 = 0.25;

const CREATE_LIST: Range = Range::fixed(10);
const CALL: Range = Range::fixed(1);

/// The cost of a call, and the size of its result if something is known.
pub(super) struct Call {
    pub(super) cost: Range,
    pub(super) size: Option<Range>,
}

impl Call {
    pub(super) const fn costs(cost: Range) -> Self {
        Self { cost, size: None }
    }

    pub(super) const fn sized(cost: Range, size: Range) -> Self {
        Self { cost, size: Some(size) }
    }
}

/// One overload of a call that may be chosen.
pub(super) struct Candidate<'c, 'a> {
    pub(super) function: &'c str,
    pub(super) overload: &'static str,
    pub(super) target: Option<Argument<'a>>,
    pub(super) args: &'c [Argument<'a>],
}

impl Estimator<'_> {
    pub(super) fn call(
        &mut self,
        id: ExprId,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Range {
        if function == "dyn"
            && let Some(arg) = args.first()
        {
            let cost = CALL.add(self.cost(*arg));
            self.copy_sizes(id, *arg);
            return cost;
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(*arg));
            arguments.push(self.argument(*arg));
        }
        let overloads = self.checked.overloads(id);
        if overloads.is_empty() {
            return ZERO;
        }
        let target_cost = target.map_or(ZERO, |target| self.cost(target));
        let target = target.map(|target| self.argument(target));
        let mut cost = Range { min: u64::MAX, max: 0 };
        let mut size: Option<Range> = None;
        for overload in overloads {
            let call =
                self.overload_cost(id, &Candidate { function, overload, target, args: &arguments }, &costs);
            cost = cost.union(call.cost);
            size = match (size, call.size) {
                (Some(one), Some(other)) => Some(one.union(other)),
                (one, other) => one.or(other),
            };
            if let Some(step) = index_step(overload)
                && let Some(container) = args.first()
            {
                size = self.entries(*container).map(|entries| entries.value);
                let parent = self.path(*container);
                self.path_of[id.index()] = Some(self.step(parent, step.into()));
            }
            if size.is_none() {
                size = self.size(id);
            }
        }
        self.set_size(id, size);
        target_cost.add(cost)
    }

    fn overload_cost(&mut self, id: ExprId, call: &Candidate<'_, '_>, costs: &[Range]) -> Call {
        let sum = costs.iter().fold(ZERO, |sum, cost| sum.add(*cost));
        let with_arguments = |call: Call| Call { cost: call.cost.add(sum), size: call.size };
        let extension = self.extension(call).or_else(|| kubernetes::cost(self, call));
        match extension {
            Some(found) => with_arguments(found),
            None => match self.control(id, call, costs) {
                Some(found) => found,
                None => with_arguments(self.standard(id, call).unwrap_or(Call::costs(CALL))),
            },
        }
    }

    /// Operators that do not evaluate all their arguments.
    fn control(&mut self, id: ExprId, call: &Candidate<'_, '_>, costs: &[Range]) -> Option<Call> {
        match call.overload {
            "logical_or" | "logical_and" => {
                Some(Call::costs(Range { min: costs[0].min, max: costs[0].add(costs[1]).max }))
            }
            "conditional" => {
                let size = known(&call.args[1]).union(known(&call.args[2]));
                let entries = Entries::union(self.entries(call.args[1].id), self.entries(call.args[2].id));
                if entries.is_some() {
                    self.entries_of[id.index()] = entries;
                }
                Some(Call::sized(costs[0].add(costs[1].union(costs[2])), size))
            }
            _ => None,
        }
    }

    fn standard(&mut self, id: ExprId, call: &Candidate<'_, '_>) -> Option<Call> {
        let (target, args) = (call.target.as_ref(), call.args);
        Some(match call.overload {
            "string_format" => Call::costs(known(target?).scaled(PER_CHARACTER)),
            "string_to_bytes" => {
                let size = known(args.first()?);
                Call::sized(
                    size.scaled(PER_CHARACTER),
                    Range { min: size.min, max: size.max.wrapping_mul(4) },
                )
            }
            "bytes_to_string" => {
                let size = known(args.first()?);
                Call::sized(size.scaled(PER_CHARACTER), Range { min: size.min / 4, max: size.max })
            }
            "strings_quote" => {
                let size = known(args.first()?);
                let quoted =
                    Range { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
                Call::sized(size.scaled(PER_CHARACTER), quoted)
            }
            "starts_with_string" | "ends_with_string" => {
                Call::costs(known(args.first()?).scaled(PER_CHARACTER))
            }
            "in_list" => Call::costs(known(args.get(1)?).scaled(1.0)),
            "matches_string" => Call::costs(regex(known(target?), known(args.first()?))),
            "contains_string" => {
                let part = known(args.first()?).scaled(PER_CHARACTER);
                Call::costs(known(target?).scaled(PER_CHARACTER).times(part))
            }
            "add_string" | "add_bytes" | "add_list" => {
                let size = known(args.first()?).add(known(args.get(1)?));
                let entries = Entries::union(self.entries(args[0].id), self.entries(args[1].id));
                if entries.is_some() {
                    self.entries_of[id.index()] = entries;
                }
                let cost = if call.overload == "add_list" { CALL } else { size.scaled(PER_CHARACTER) };
                Call::sized(cost, size)
            }
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals" => {
                let max = known(args.first()?).max.min(known(args.get(1)?).max);
                Call::costs(Range { min: u64::from(max > 0), max }.scaled(PER_CHARACTER))
            }
            _ => return None,
        })
    }

    /// Functions of cel-go's libraries of sets and lists.
    /// Upstream: cel-go ext/sets.go, ext/lists.go (v0.26.0).
    fn extension(&self, call: &Candidate<'_, '_>) -> Option<Call> {
        let (target, args) = (call.target.as_ref(), call.args);
        Some(match call.overload {
            "list_sets_contains_list" | "list_sets_intersects_list" => self.sets(args, 1.0)?,
            "list_sets_equivalent_list" => self.sets(args, 2.0)?,
            "list_slice" => {
                let size = self.size_for(target?);
                let [start, end] = args else { return None };
                let (start, end) = (self.int_or(start, 0), self.int_or(end, size.max));
                allocating(1.0, Range::fixed(end.wrapping_sub(start)))
            }
            "list_flatten" => allocating(1.0, self.size_for(target?)),
            "list_flatten_int" => {
                let depth = self.int_or(args.first()?, u64::MAX);
                allocating(depth as f64, self.size_for(target?))
            }
            "lists_range" => allocating(1.0, Range::fixed(self.int_or(args.first()?, u64::MAX))),
            "list_reverse" => allocating(1.0, self.size_for(target?)),
            "list_distinct" => self.pairwise(target?, 2.0),
            "list_string_sort" | "list_bytes_sort" => self.pairwise(target?, 2.0 + PER_CHARACTER),
            "list_string_sortByAssociatedKeys" | "list_bytes_sortByAssociatedKeys" => {
                self.pairwise(args.first()?, 2.0 + PER_CHARACTER)
            }
            overload if overload.ends_with("_sort") => self.pairwise(target?, 2.0),
            overload if overload.ends_with("_sortByAssociatedKeys") => self.pairwise(args.first()?, 2.0),
            _ => return None,
        })
    }

    fn sets(&self, args: &[Argument<'_>], factor: f64) -> Option<Call> {
        let [one, other] = args else { return None };
        Some(Call::costs(self.size_for(one).times(self.size_for(other)).scaled(factor).add(CALL)))
    }

    fn pairwise(&self, list: &Argument<'_>, factor: f64) -> Call {
        let size = self.size_for(list);
        allocating(factor, size.times(size))
    }

    /// The size of an argument; if it was not computed, the size at its path.
    pub(super) fn size_for(&self, argument: &Argument<'_>) -> Range {
        argument.size.or_else(|| self.size_at(argument.path, None)).unwrap_or(Range::UNKNOWN)
    }

    /// The size of the elements of a list; None if it is no list.
    pub(super) fn element_size(&self, path: Option<PathId>) -> Range {
        let size = match path {
            Some(path) => self.size_at(Some(path), Some("@items")),
            None => self.size_at(None, None),
        };
        size.unwrap_or(Range::UNKNOWN)
    }

    /// The literal that this argument is.
    pub(super) fn literal(&self, argument: &Argument<'_>) -> Option<&Literal> {
        match self.checked.expr(argument.id) {
            Expr::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    fn int_or(&self, argument: &Argument<'_>, otherwise: u64) -> u64 {
        match self.literal(argument) {
            Some(Literal::Int(value)) => u64::try_from(*value).unwrap_or(0),
            _ => otherwise,
        }
    }
}

/// A call that makes a list of this size.
fn allocating(factor: f64, size: Range) -> Call {
    Call::sized(size.scaled(factor).add(CALL).add(CREATE_LIST), size)
}

fn known(argument: &Argument<'_>) -> Range {
    argument.size.unwrap_or(Range::UNKNOWN)
}

/// The cost of matching a text with a regular expression; an empty text is not free.
pub(super) fn regex(text: Range, expression: Range) -> Range {
    text.add(Range::fixed(1)).scaled(PER_CHARACTER).times(expression.scaled(PER_REGEX_CHARACTER))
}

fn index_step(overload: &str) -> Option<&'static str> {
    match overload {
        "index_list" => Some("@items"),
        "index_map" => Some("@values"),
        _ => None,
    }
}
