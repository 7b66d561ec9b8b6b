//! Authorizer attributes of an access review.

use keelson_authn::User;
use keelson_authz::{Attributes, Authorizer, Selectors, Subject, Target, Verdict};
use keelson_object::selector::{field, label};
use keelson_object::{Map, SmolStr, Value};

/// The attributes of a review: its `spec`, with the selectors parsed.
pub(super) struct Question<'s> {
    spec: &'s Map,
    fields: Read<field::Term>,
    labels: Read<label::Requirement>,
}

impl<'s> Question<'s> {
    /// Reads the selectors.
    pub(super) fn new(spec: &'s Map) -> Question<'s> {
        let selector = |name| spec.map("resourceAttributes").and_then(|it| it.map(name));
        Question {
            spec,
            fields: selector("fieldSelector").map(read_fields).unwrap_or_default(),
            labels: selector("labelSelector").map(read_labels).unwrap_or_default(),
        }
    }

    /// Asks it, for `user`.
    ///
    /// Upstream: pkg/registry/authorization/util/helpers.go, ResourceAttributesFrom, NonResourceAttributesFrom (v1.36.4).
    pub(super) async fn ask(&self, authorizer: &dyn Authorizer, user: &User) -> Verdict {
        let empty = Map::new();
        let resource = self.spec.map("resourceAttributes");
        let about = resource.or(self.spec.map("nonResourceAttributes")).unwrap_or(&empty);
        let text = |name| about.str(name).unwrap_or_default();
        let target = match resource {
            None => Target::Path,
            Some(_) => Target::Resource {
                namespace: text("namespace"),
                api_group: text("group"),
                api_version: about.str("version").filter(|it| !it.is_empty()).unwrap_or("*"),
                resource: text("resource"),
                subresource: text("subresource"),
                name: text("name"),
            },
        };
        let selectors = Selectors { fields: &self.fields.known, labels: &self.labels.known };
        let (user, verb, path) = (subject(user), text("verb"), text("path"));
        authorizer.authorize(&Attributes { user, verb, target, path, selectors }).await
    }

    /// The messages about selectors that could not be parsed completely.
    pub(super) fn unread(&self) -> Vec<String> {
        let said = [("fieldSelector", self.fields.how()), ("labelSelector", self.labels.how())];
        let said = said.into_iter().filter_map(|(name, how)| {
            Some(format!("spec.resourceAttributes.{name} {} due to parse error", how?))
        });
        said.collect()
    }
}

/// A user as authorizers see one.
pub(super) fn subject(user: &User) -> Subject<'_> {
    Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
}

/// The conditions that could be read.
struct Read<T> {
    known: Vec<T>,
    is_whole: bool,
}

impl<T> Default for Read<T> {
    fn default() -> Read<T> {
        Read { known: Vec::new(), is_whole: true }
    }
}

impl<T> Read<T> {
    fn how(&self) -> Option<&'static str> {
        match (self.is_whole, self.known.is_empty()) {
            (true, _) => None,
            (false, true) => Some("ignored"),
            (false, false) => Some("partially ignored"),
        }
    }

    /// The requirements if there are any, else the raw text.
    fn of<E>(
        selector: &Map,
        requirement: impl Fn(&Map) -> Option<T>,
        parse: impl Fn(&str) -> Result<Vec<T>, E>,
    ) -> Read<T> {
        let total = selector.maps("requirements").count();
        if total == 0 {
            let raw = selector.str("rawSelector").unwrap_or_default();
            return match parse(raw) {
                Ok(known) => Read { known, is_whole: true },
                Err(_) => Read { known: Vec::new(), is_whole: false },
            };
        }
        let known: Vec<T> = selector.maps("requirements").filter_map(requirement).collect();
        let is_whole = known.len() == total;
        Read { known, is_whole }
    }
}

/// Upstream: pkg/registry/authorization/util/helpers.go, fieldSelectorAsSelector (v1.36.4).
fn read_fields(selector: &Map) -> Read<field::Term> {
    let requirement = |it: &Map| {
        let operator = match it.str("operator")? {
            "In" => field::Operator::Equals,
            "NotIn" => field::Operator::NotEquals,
            _ => return None,
        };
        let [value] = it.list("values") else { return None };
        let field = it.str("key").unwrap_or_default().into();
        Some(field::Term { field, operator, value: value.as_str()?.into() })
    };
    Read::of(selector, requirement, |raw| field::Selector::parse(raw).map(|it| it.terms().to_vec()))
}

/// Upstream: pkg/registry/authorization/util/helpers.go, labelSelectorAsSelector (v1.36.4).
fn read_labels(selector: &Map) -> Read<label::Requirement> {
    let requirement = |it: &Map| {
        let operator = match it.str("operator")? {
            "In" => label::Operator::In,
            "NotIn" => label::Operator::NotIn,
            "Exists" => label::Operator::Exists,
            "DoesNotExist" => label::Operator::DoesNotExist,
            _ => return None,
        };
        let values = it.list("values").iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        label::Requirement::new(it.str("key").unwrap_or_default(), operator, values).ok()
    };
    Read::of(selector, requirement, |raw| label::Selector::parse(raw).map(|it| it.requirements().to_vec()))
}
