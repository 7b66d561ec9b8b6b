//! Scopes: which objects a quota counts, by their properties and not by their usage.

use std::collections::BTreeSet;
use std::fmt;

use keelson_object::selector::label::{Operator, Requirement};
use keelson_object::{Map, SmolStr, Value};

/// The scope of pods of some priority classes.
const PRIORITY_CLASS: &str = "PriorityClass";

/// The scope of claims of some classes of volumes.
const VOLUME_CLASS: &str = "VolumeAttributesClass";

/// One condition on objects, as a quota or the configuration names it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scope {
    pub(super) name: SmolStr,
    operator: SmolStr,
    values: Vec<SmolStr>,
}

/// The properties of an object that scopes test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Traits {
    /// The object is in no scope.
    None,
    Pod(PodTraits),
    /// A claim, and the classes that it has, had or is to have.
    Volume(BTreeSet<SmolStr>),
}

/// The properties of a pod that scopes test.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PodTraits {
    pub(super) is_terminating: bool,
    pub(super) is_best_effort: bool,
    pub(super) looks_elsewhere: bool,
    pub(super) priority_class: SmolStr,
}

impl Scope {
    /// The scopes in the spec of a quota.
    ///
    /// Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go, getScopeSelectorsFromQuota (v1.36.4).
    pub(super) fn of_quota(spec: &Map) -> Vec<Scope> {
        let plain = spec.list("scopes").iter().filter_map(Value::as_str).map(|name| Scope {
            name: name.into(),
            operator: "Exists".into(),
            values: Vec::new(),
        });
        let selector = spec.map("scopeSelector").into_iter().flat_map(|it| it.maps("matchExpressions"));
        plain.chain(selector.map(Scope::read)).collect()
    }

    /// Reads a scope of a selector.
    pub(super) fn read(map: &Map) -> Scope {
        let text = |key| SmolStr::from(map.str(key).unwrap_or_default());
        let values = map.list("values").iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        Scope { name: text("scopeName"), operator: text("operator"), values }
    }

    /// Whether an object is in the scope.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc, and persistent_volume_claims.go,
    /// pvcMatchesScopeFunc (v1.36.4).
    pub(super) fn holds(&self, traits: &Traits) -> Result<bool, String> {
        Ok(match (traits, self.name.as_str()) {
            (Traits::Pod(pod), "Terminating") => pod.is_terminating,
            (Traits::Pod(pod), "NotTerminating") => !pod.is_terminating,
            (Traits::Pod(pod), "BestEffort") => pod.is_best_effort,
            (Traits::Pod(pod), "NotBestEffort") => !pod.is_best_effort,
            (Traits::Pod(pod), "CrossNamespacePodAffinity") => pod.looks_elsewhere,
            (Traits::Pod(pod), PRIORITY_CLASS) => {
                let class = Some(pod.priority_class.as_str()).filter(|it| !it.is_empty());
                self.selects(class.into_iter())?
            }
            (Traits::Volume(classes), VOLUME_CLASS) => self.selects(classes.iter().map(SmolStr::as_str))?,
            _ => false,
        })
    }

    /// Whether the scope selects one of `values`; without values, whether it selects their absence.
    fn selects<'v>(&self, values: impl ExactSizeIterator<Item = &'v str>) -> Result<bool, String> {
        let mut values = values;
        if self.operator == "Exists" {
            return Ok(values.len() > 0);
        }
        let operator = match self.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(self.unreadable(&format!("{other:?} is not a valid scope selector operator")));
            }
        };
        let requirement = Requirement::new(&self.name, operator, self.values.clone());
        let requirement = requirement.map_err(|error| self.unreadable(&error.to_string()))?;
        if values.len() == 0 {
            return Ok(requirement.matches(None));
        }
        Ok(values.any(|it| requirement.matches(Some(it))))
    }

    fn unreadable(&self, why: &str) -> String {
        format!("error on matching scope {self}: failed to parse and convert selector: {why}")
    }
}

/// Formats the scope like Go prints the struct.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{} {} [{}]}}", self.name, self.operator, self.values.join(" "))
    }
}

/// The scopes that an object is in.
pub(super) fn holding<'s>(scopes: &'s [Scope], traits: &Traits) -> Result<Vec<&'s Scope>, String> {
    let mut holding = Vec::new();
    for scope in scopes {
        if scope.holds(traits)? {
            holding.push(scope);
        }
    }
    Ok(holding)
}

#[cfg(test)]
mod tests {
    use super::{PodTraits, Scope, Traits};
    use crate::testing::map;

    #[track_caller]
    fn check(scope: &str, traits: &Traits, expected: Result<bool, &str>) {
        let found = Scope::read(&map(scope)).holds(traits);
        assert_eq!(found, expected.map_err(str::to_owned), "{scope}");
    }

    fn pod(priority_class: &str) -> Traits {
        Traits::Pod(PodTraits { priority_class: priority_class.into(), ..PodTraits::default() })
    }

    fn volume(classes: &[&str]) -> Traits {
        Traits::Volume(classes.iter().map(|it| (*it).into()).collect())
    }

    #[test]
    fn priority_classes_are_selected_by_name() {
        let of = |operator: &str, values: &str| {
            format!(r#"{{"scopeName":"PriorityClass","operator":"{operator}","values":{values}}}"#)
        };
        check(&of("In", r#"["high"]"#), &pod("high"), Ok(true));
        check(&of("In", r#"["high"]"#), &pod("low"), Ok(false));
        check(&of("In", r#"["high"]"#), &pod(""), Ok(false));
        check(&of("NotIn", r#"["high"]"#), &pod("low"), Ok(true));
        check(&of("NotIn", r#"["high"]"#), &pod(""), Ok(true));
        check(&of("Exists", "[]"), &pod("low"), Ok(true));
        check(&of("Exists", "[]"), &pod(""), Ok(false));
        check(&of("DoesNotExist", "[]"), &pod(""), Ok(true));
        check(&of("DoesNotExist", "[]"), &pod("low"), Ok(false));
        let odd = "error on matching scope {PriorityClass Near [a]}: failed to parse and convert selector: \"Near\" is not a valid scope selector operator";
        check(&of("Near", r#"["a"]"#), &pod("low"), Err(odd));
    }

    #[test]
    fn a_claim_is_in_the_scope_of_each_of_its_classes() {
        let of = |operator: &str, values: &str| {
            format!(r#"{{"scopeName":"VolumeAttributesClass","operator":"{operator}","values":{values}}}"#)
        };
        check(&of("In", r#"["gold"]"#), &volume(&["gold", "silver"]), Ok(true));
        check(&of("NotIn", r#"["gold"]"#), &volume(&["gold", "silver"]), Ok(true));
        check(&of("NotIn", r#"["gold"]"#), &volume(&["gold"]), Ok(false));
        check(&of("NotIn", r#"["gold"]"#), &volume(&[]), Ok(true));
        check(&of("Exists", "[]"), &volume(&[]), Ok(false));
        check(&of("Exists", "[]"), &pod("high"), Ok(false));
    }

    #[test]
    fn other_scopes_tell_pods_apart() {
        let is = |name: &str| format!(r#"{{"scopeName":"{name}","operator":"Exists"}}"#);
        let ends = Traits::Pod(PodTraits { is_terminating: true, ..PodTraits::default() });
        check(&is("Terminating"), &ends, Ok(true));
        check(&is("NotTerminating"), &ends, Ok(false));
        check(&is("NotBestEffort"), &ends, Ok(true));
        check(&is("CrossNamespacePodAffinity"), &ends, Ok(false));
        check(&is("NotTerminating"), &Traits::None, Ok(false));
        check(&is("NotTerminating"), &volume(&[]), Ok(false));
    }
}
