//! Label selectors: `app=web,tier in (front,back),!canary`.

mod parse;

use std::fmt;

use smol_str::SmolStr;

use super::name_rules::{label_value, qualified_name};
use super::{RequirementError, SelectorError};
use crate::field_error::FieldErrors;
use crate::path::Path;
use crate::value::{Map, Value};

/// Selects objects by their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Sorted by key. `None` selects no object at all, which no list of requirements can express.
    requirements: Option<Vec<Requirement>>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: SmolStr,
    operator: Operator,
    values: Vec<SmolStr>,
}

/// The comparison of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key=value`
    Equals,
    /// `key==value`, the same as [`Operator::Equals`] except for how it is printed.
    DoubleEquals,
    /// `key!=value`: the label is absent or different.
    NotEquals,
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`: the label is absent or different from all of them.
    NotIn,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>5`: the label is a larger whole number.
    GreaterThan,
    /// `key<5`: the label is a smaller whole number.
    LessThan,
}

impl Selector {
    /// Selects all objects.
    pub const fn everything() -> Selector {
        Selector { requirements: Some(Vec::new()) }
    }

    /// Selects no object.
    pub const fn nothing() -> Selector {
        Selector { requirements: None }
    }

    /// Parses requirements separated by commas.
    ///
    /// Upstream: apimachinery/pkg/labels/selector.go, Parse (v1.36.4).
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        parse::parse(text).map(Selector::from_requirements)
    }

    /// Reads a label selector object: `matchLabels` and `matchExpressions`. An empty one selects all objects.
    ///
    /// Upstream: apimachinery/pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector (v1.36.4).
    pub fn from_label_selector(selector: &Map) -> Result<Selector, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in selector.map("matchLabels").into_iter().flat_map(Map::iter) {
            let values = vec![SmolStr::from(value.as_str().unwrap_or_default())];
            requirements.push(checked(Requirement { key: key.clone(), operator: Operator::Equals, values })?);
        }
        for expression in selector.maps("matchExpressions") {
            requirements.push(checked(Requirement::from_map(expression)?)?);
        }
        Ok(Selector::from_requirements(requirements))
    }

    /// Selects the objects that have all of `labels`, which are not validated: the selector of a service.
    pub fn from_labels<'l>(labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Selector {
        let equals = |(key, value): (&str, &str)| Requirement {
            key: key.into(),
            operator: Operator::Equals,
            values: vec![value.into()],
        };
        Selector::from_requirements(labels.into_iter().map(equals).collect())
    }

    fn from_requirements(mut requirements: Vec<Requirement>) -> Selector {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Selector { requirements: Some(requirements) }
    }

    /// The conditions; all of them must hold. There are none for everything, and none for nothing.
    pub fn requirements(&self) -> &[Requirement] {
        self.requirements.as_deref().unwrap_or_default()
    }

    /// Whether all objects are selected.
    pub fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether no object is selected, whatever its labels.
    pub fn is_nothing(&self) -> bool {
        self.requirements.is_none()
    }

    /// Whether an object is selected; `lookup` returns its labels.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.as_ref().is_some_and(|all| all.iter().all(|it| it.matches(lookup(&it.key))))
    }

    /// The value that the label `key` must have, if there is exactly one.
    pub fn exact(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements().iter().find(|it| it.key == key)?;
        match (requirement.operator, requirement.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements().iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl Requirement {
    /// A valid requirement; the values are kept in the given order.
    ///
    /// Upstream: apimachinery/pkg/labels/selector.go, NewRequirement (v1.36.4).
    pub fn new(key: &str, operator: Operator, values: Vec<SmolStr>) -> Result<Requirement, RequirementError> {
        let requirement = Requirement { key: key.into(), operator, values };
        let errors = requirement.problems();
        if errors.is_empty() { Ok(requirement) } else { Err(RequirementError::Rules(errors)) }
    }

    /// The label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values.
    pub fn values(&self) -> &[SmolStr] {
        &self.values
    }

    /// Whether the requirement holds for a label of this value, or for an object without the label.
    pub fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |label: &str| self.values.iter().any(|value| value == label);
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => label.is_some_and(is_listed),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compares(label, |label, limit| label > limit),
            Operator::LessThan => self.compares(label, |label, limit| label < limit),
        }
    }

    fn compares(&self, label: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse().ok();
        let limit = self.values.first().and_then(|value| number(value));
        label.and_then(number).zip(limit).is_some_and(|(label, limit)| holds(label, limit))
    }

    fn from_map(expression: &Map) -> Result<Requirement, SelectorError> {
        let operator = match expression.str("operator").unwrap_or_default() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(SelectorError::Operator { operator: other.to_owned() });
            }
        };
        let values = expression.list("values").iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        Ok(Requirement { key: expression.str("key").unwrap_or_default().into(), operator, values })
    }

    fn problems(&self) -> FieldErrors {
        let mut errors = FieldErrors::default();
        check_key(&self.key, &Path::root("key"), &mut errors);
        let at = Path::root("values");
        if let Some(detail) = self.count_problem() {
            errors.invalid(&at, &shown_values(&self.values), detail);
        }
        for (position, value) in self.values.iter().enumerate() {
            let is_ordered = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
            if is_ordered && value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.invalid(&at.index(position), value.as_str(), detail);
            }
        }
        for (position, value) in self.values.iter().enumerate() {
            let problems = label_value(value);
            if !problems.is_empty() {
                errors.invalid(&at.index(position).entry(&self.key), value.as_str(), problems.join("; "));
            }
        }
        errors
    }

    fn count_problem(&self) -> Option<&'static str> {
        match (self.operator, self.values.len()) {
            (Operator::In | Operator::NotIn, 0) => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            (Operator::In | Operator::NotIn, _) => None,
            (Operator::Exists | Operator::DoesNotExist, 0) => None,
            (Operator::Exists | Operator::DoesNotExist, _) => {
                Some("values set must be empty for exists and does not exist")
            }
            (_, 1) => None,
            (Operator::GreaterThan | Operator::LessThan, _) => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => Some("exact-match compatibility requires one single value"),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = match self.operator {
            Operator::Exists => return f.write_str(&self.key),
            Operator::DoesNotExist => return write!(f, "!{}", self.key),
            Operator::Equals => ("=", ""),
            Operator::DoubleEquals => ("==", ""),
            Operator::NotEquals => ("!=", ""),
            Operator::In => (" in (", ")"),
            Operator::NotIn => (" notin (", ")"),
            Operator::GreaterThan => (">", ""),
            Operator::LessThan => ("<", ""),
        };
        let mut values: Vec<&str> = self.values.iter().map(SmolStr::as_str).collect();
        values.sort_unstable();
        write!(f, "{}{before}{}{after}", self.key, values.join(","))
    }
}

fn checked(requirement: Requirement) -> Result<Requirement, SelectorError> {
    let errors = requirement.problems();
    if errors.is_empty() { Ok(requirement) } else { Err(SelectorError::Rules(errors)) }
}

fn check_key(key: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let problems = qualified_name(key);
    if !problems.is_empty() {
        errors.invalid(at, key, problems.join("; "));
    }
}

/// Go has two empty lists; one that comes from an empty list of values is printed as `null`.
fn shown_values(values: &[SmolStr]) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    Value::List(values.iter().cloned().map(Value::String).collect())
}

#[cfg(test)]
mod tests;
