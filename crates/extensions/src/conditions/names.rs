//! NamesAccepted: the names of a definition are free, or taken by another definition of its group.
//!
//! Resources (plural, singular, short names) and kinds (kind, list kind) are two name spaces. A name that a definition
//! has stays its name; a new one is accepted if no other definition has it.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/status/naming_controller.go (v1.36.4).

use std::collections::HashSet;

use keelson_object::scalar::{Time, quote};
use keelson_object::{Condition, Map, Object, SmolStr, Value, condition};

use super::{ESTABLISHED, NAMES_ACCEPTED, spec};

/// The accepted names of the definitions of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupNames {
    resources: HashSet<SmolStr>,
    kinds: HashSet<SmolStr>,
}

impl GroupNames {
    /// Adds the accepted names of a definition of the group.
    pub fn add(&mut self, definition: &Object) {
        self.add_names(&Names::accepted(definition));
    }

    fn add_names(&mut self, names: &Names) {
        self.resources.extend([names.plural.clone(), names.singular.clone()]);
        self.resources.extend(names.short_names.iter().cloned());
        self.kinds.extend([names.kind.clone(), names.list_kind.clone()]);
    }
}

impl<'o> FromIterator<&'o Object> for GroupNames {
    fn from_iter<I: IntoIterator<Item = &'o Object>>(definitions: I) -> GroupNames {
        let mut names = GroupNames::default();
        definitions.into_iter().for_each(|it| names.add(it));
        names
    }
}

/// `spec.names` or `status.acceptedNames`; what is absent is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    plural: SmolStr,
    singular: SmolStr,
    short_names: Vec<SmolStr>,
    kind: SmolStr,
    list_kind: SmolStr,
    categories: Vec<SmolStr>,
}

impl Names {
    fn read(names: Option<&Map>) -> Names {
        let Some(names) = names else { return Names::default() };
        let text = |field| names.str(field).map(SmolStr::from).unwrap_or_default();
        let texts = |field| names.strings(field).map(SmolStr::from).collect();
        Names {
            plural: text("plural"),
            singular: text("singular"),
            short_names: texts("shortNames"),
            kind: text("kind"),
            list_kind: text("listKind"),
            categories: texts("categories"),
        }
    }

    fn accepted(definition: &Object) -> Names {
        Names::read(definition.fields.map("status").and_then(|it| it.map("acceptedNames")))
    }

    fn write(self) -> Map {
        let texts = |items: Vec<SmolStr>| Value::List(items.into_iter().map(Value::String).collect());
        let mut map = Map::with_capacity(6);
        map.push_new("plural", self.plural);
        map.push_new("singular", self.singular);
        map.push_new("shortNames", texts(self.short_names));
        map.push_new("kind", self.kind);
        map.push_new("listKind", self.list_kind);
        map.push_new("categories", texts(self.categories));
        // Upstream writes these two even if they are empty.
        map.retain(|key, value| matches!(key, "plural" | "kind") || !value.is_empty());
        map
    }
}

/// Brings the accepted names and both conditions up to date. Says whether anything changed.
pub(super) fn update(definition: &Object, group: &GroupNames, status: &mut Map, now: Time) -> bool {
    let wanted = Names::read(spec(definition).map("names"));
    let accepted = Names::accepted(definition);
    if wanted == accepted {
        return false;
    }
    let (names, condition) = decide(&wanted, &accepted, group);
    if names == accepted && condition.is_in(Some(status)) {
        return false;
    }
    status.set("acceptedNames", names.write());
    condition.set(status, now);
    if let Some(established) = not_established_yet(&condition, status) {
        established.set(status, now);
    }
    true
}

/// The names that a definition gets. Only the last conflict is reported.
fn decide(wanted: &Names, accepted: &Names, group: &GroupNames) -> (Names, Condition) {
    let mut used = group.clone();
    used.add_names(accepted);
    let (resources, kinds) = (&used.resources, &used.kinds);
    let mut names = accepted.clone();
    let mut conflict = None;
    let mut take = |reason, problems: Vec<String>| {
        let is_free = problems.is_empty();
        if !is_free {
            conflict = Some((reason, aggregate(&problems)));
        }
        is_free
    };
    let one = |wanted, accepted, used| problem(wanted, accepted, used).into_iter().collect();
    if take("PluralConflict", one(&wanted.plural, &accepted.plural, resources)) {
        names.plural = wanted.plural.clone();
    }
    if take("SingularConflict", one(&wanted.singular, &accepted.singular, resources)) {
        names.singular = wanted.singular.clone();
    }
    let new = wanted.short_names.iter().filter(|it| !accepted.short_names.contains(it));
    if take("ShortNamesConflict", new.filter_map(|it| problem(it, "", resources)).collect()) {
        names.short_names = wanted.short_names.clone();
    }
    if take("KindConflict", one(&wanted.kind, &accepted.kind, kinds)) {
        names.kind = wanted.kind.clone();
    }
    if take("ListKindConflict", one(&wanted.list_kind, &accepted.list_kind, kinds)) {
        names.list_kind = wanted.list_kind.clone();
    }
    names.categories = wanted.categories.clone();
    let (status, (reason, message)) = match conflict {
        Some(conflict) => ("False", conflict),
        None => ("True", ("NoConflicts", "no conflicts found".to_owned())),
    };
    (names, Condition { kind: NAMES_ACCEPTED, status, reason, message })
}

fn problem(wanted: &str, accepted: &str, used: &HashSet<SmolStr>) -> Option<String> {
    (wanted != accepted && used.contains(wanted)).then(|| format!("{} is already in use", quote(wanted)))
}

/// Upstream: apimachinery/pkg/util/errors/errors.go, aggregate.Error (v1.36.4).
fn aggregate(problems: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::with_capacity(problems.len());
    for problem in problems {
        if !distinct.contains(&problem.as_str()) {
            distinct.push(problem);
        }
    }
    match distinct.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// What Established becomes when names were decided. `None` if it stays as it is: it becomes true only in
/// [`establish`](super::establish), and stays true.
fn not_established_yet(names: &Condition, status: &Map) -> Option<Condition> {
    let old = condition::status_of(Some(status), ESTABLISHED);
    let (reason, message) = match old {
        Some("True") => return None,
        _ if names.status == "True" => ("Installing", "the initial names have been accepted"),
        Some(_) => return None,
        None => ("NotAccepted", "not all names are accepted"),
    };
    Some(Condition { kind: ESTABLISHED, status: "False", reason, message: message.to_owned() })
}
