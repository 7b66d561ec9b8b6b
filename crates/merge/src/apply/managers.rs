//! `metadata.managedFields`: who owns which fields.

use keelson_object::scalar::{Time, quote};
use keelson_object::{Map, SmolStr, Value};

use super::Refusal;
use super::field_set::{self, FieldSet, Form};
use super::values;

/// More managers that update than this are not told apart: the oldest become one.
const MAX_UPDATE_MANAGERS: usize = 10;

/// The name of what the oldest updates become.
const ANCIENT: &str = "ancient-changes";

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It says what it wants; what it no longer wants goes.
    Apply,
    /// It changes fields.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// What tells managers apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    /// Its name.
    pub name: SmolStr,
    /// How it writes.
    pub operation: Operation,
    /// The version that it updates in; empty for appliers, which are the same in every version.
    pub api_version: SmolStr,
    /// The subresource that it writes to.
    pub subresource: SmolStr,
}

impl Id {
    /// The form that upstream sorts by.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/managedfields.go, BuildManagerIdentifier (v1.36.4).
    pub(super) fn to_json(&self) -> String {
        let mut text = String::from("{");
        let fields = [
            ("manager", self.name.as_str()),
            ("operation", self.operation.name()),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ];
        for (key, value) in fields {
            if !value.is_empty() {
                if text.len() > 1 {
                    text.push(',');
                }
                values::write_text(key, &mut text);
                text.push(':');
                values::write_text(value, &mut text);
            }
        }
        text.push('}');
        text
    }
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed {
    /// Who.
    pub id: Id,
    /// The version that the fields are in.
    pub api_version: SmolStr,
    /// When it last changed something.
    pub time: Option<Time>,
    /// Which fields.
    pub fields: FieldSet,
    /// What was read, in the form in which it would be written: it is written again if the fields are still the same.
    pub(super) read: Option<(FieldSet, Value)>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managers(pub Vec<Managed>);

impl Managers {
    /// Reads `managedFields`.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/managedfields.go, DecodeManagedFields (v1.36.4).
    pub fn from_entries(entries: Vec<Value>) -> Result<Managers, Refusal> {
        let mut managers = Managers(Vec::with_capacity(entries.len()));
        for (at, entry) in entries.into_iter().enumerate() {
            let managed = read(at, entry).map_err(Refusal::Internal)?;
            match managers.get_mut(&managed.id) {
                Some(earlier) => *earlier = managed,
                None => managers.0.push(managed),
            }
        }
        Ok(managers)
    }

    /// Writes `managedFields`: appliers first, the oldest first.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/managedfields.go, sortEncodedManagedFields (v1.36.4).
    pub fn into_entries(mut self) -> Vec<Value> {
        self.0.sort_by(|a, b| {
            let key = |it: &Managed| (it.id.operation, seconds(it.time));
            let names =
                |it: &Managed| [it.id.name.clone(), it.api_version.clone(), it.id.subresource.clone()];
            key(a).cmp(&key(b)).then_with(|| names(a).cmp(&names(b)))
        });
        self.0.into_iter().map(write).collect()
    }

    /// What a manager owns.
    pub fn get(&self, id: &Id) -> Option<&Managed> {
        self.0.iter().find(|it| it.id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &Id) -> Option<&mut Managed> {
        self.0.iter_mut().find(|it| it.id == *id)
    }

    pub(super) fn remove(&mut self, id: &Id) -> Option<Managed> {
        let at = self.0.iter().position(|it| it.id == *id)?;
        Some(self.0.swap_remove(at))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the oldest updates one per version, until there are no more than ten.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/capmanagers.go, capUpdateManagers (v1.36.4).
    pub(super) fn cap(&mut self) {
        let updaters = self.0.iter().filter(|it| it.id.operation == Operation::Update);
        let mut updaters: Vec<_> =
            updaters.map(|it| (seconds(it.time), it.id.to_json(), it.id.clone())).collect();
        let mut surplus = updaters.len().saturating_sub(MAX_UPDATE_MANAGERS);
        if surplus == 0 {
            return;
        }
        updaters.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        // The first of each version waits for a second one: an entry alone would only lose its name.
        let mut firsts: Vec<(SmolStr, Id)> = Vec::new();
        for (_, _, id) in updaters {
            if surplus == 0 {
                return;
            }
            let Some(version) = self.get(&id).map(|it| it.api_version.clone()) else { continue };
            let Some((_, first)) = firsts.iter().find(|(it, _)| *it == version) else {
                firsts.push((version, id));
                continue;
            };
            let first = first.clone();
            self.bury(&first, &id, &version);
            surplus -= 1;
        }
    }

    /// Merges `id` into the ancient changes of `version`, which `first` becomes if there are none.
    fn bury(&mut self, first: &Id, id: &Id, version: &SmolStr) {
        let bucket = Id {
            name: SmolStr::new_static(ANCIENT),
            operation: Operation::Update,
            api_version: version.clone(),
            subresource: SmolStr::default(),
        };
        if self.get(&bucket).is_none()
            && let Some(entry) = self.get_mut(first)
        {
            entry.id = bucket.clone();
        }
        let Some(buried) = self.remove(id) else { return };
        if let Some(entry) = self.get_mut(&bucket) {
            entry.fields = buried.fields.union(&entry.fields);
            entry.time = buried.time;
        }
    }
}

/// Whether two lists of `managedFields` differ in nothing but times, and do differ.
///
/// Upstream: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go, IgnoreManagedFieldsTimestampsTransformer
/// (v1.36.4).
pub fn differ_in_times_only(old: &[Value], new: &[Value]) -> bool {
    let is_same = |old: &Value, new: &Value| match (old, new) {
        (Value::Map(old), Value::Map(new)) => {
            let mut keys = old.iter().chain(new.iter()).map(|(key, _)| key).filter(|it| *it != "time");
            keys.all(|key| old.get(key) == new.get(key))
        }
        _ => old == new,
    };
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new)) && old != new
}

fn seconds(time: Option<Time>) -> i64 {
    time.map_or(0, Time::unix)
}

fn read(at: usize, entry: Value) -> Result<Managed, String> {
    let Value::Map(mut entry) = entry else { return Err("operation must be `Apply` or `Update`".to_owned()) };
    let operation = match entry.str("operation") {
        Some("Apply") => Operation::Apply,
        Some("Update") => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let written = entry.remove("fieldsV1").filter(|it| !it.is_null());
    let text = |key: &str| match entry.get(key) {
        Some(Value::String(text)) => text.clone(),
        _ => SmolStr::default(),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match entry.str("fieldsType").unwrap_or_default() {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
        other => return Err(format!("invalid fieldsType {} in managed fields entry {at}", quote(other))),
    }
    let (fields, form) = match &written {
        Some(written) => field_set::read(written).map_err(|error| format!("error decoding set: {error}"))?,
        None => (FieldSet::new(), Form::Other),
    };
    Ok(Managed {
        id: Id {
            name: text("manager"),
            operation,
            api_version: if operation == Operation::Apply { SmolStr::default() } else { api_version.clone() },
            subresource: text("subresource"),
        },
        api_version,
        time: entry.str("time").and_then(|it| Time::parse(it).ok()),
        read: written.filter(|_| form == Form::AsWritten).map(|written| (fields.clone(), written)),
        fields,
    })
}

fn write(managed: Managed) -> Value {
    let mut entry = Map::with_capacity(7);
    let mut put = |key: &'static str, value: Value| entry.push_new(SmolStr::new_static(key), value);
    if !managed.id.name.is_empty() {
        put("manager", managed.id.name.into());
    }
    put("operation", managed.id.operation.name().into());
    put("apiVersion", managed.api_version.into());
    if let Some(time) = managed.time {
        put("time", time.to_string().into());
    }
    put("fieldsType", "FieldsV1".into());
    put(
        "fieldsV1",
        match managed.read {
            Some((fields, written)) if fields.is_shared_with(&managed.fields) => written,
            _ => managed.fields.to_value(),
        },
    );
    if !managed.id.subresource.is_empty() {
        put("subresource", managed.id.subresource.into());
    }
    Value::Map(entry)
}

#[cfg(test)]
mod tests {
    use super::differ_in_times_only;
    use keelson_codec::json;
    use keelson_object::Value;

    #[test]
    fn times_alone_are_no_difference() {
        let entries = |text: &str| match json::read(text.as_bytes()).unwrap().value {
            Value::List(entries) => entries,
            other => panic!("{other:?}"),
        };
        let check = |old: &str, new: &str, expected: bool| {
            assert_eq!(differ_in_times_only(&entries(old), &entries(new)), expected, "{old} {new}");
        };
        check("[]", "[]", false);
        check(r#"[{"manager":"a","time":"1"}]"#, r#"[{"manager":"a","time":"1"}]"#, false);
        check(r#"[{"manager":"a","time":"1"}]"#, r#"[{"manager":"a","time":"2"}]"#, true);
        check(r#"[{"manager":"a"}]"#, r#"[{"manager":"a","time":"2"}]"#, true);
        check(r#"[{"manager":"a","time":"1"}]"#, r#"[{"manager":"b","time":"2"}]"#, false);
        check(r#"[{"manager":"a","time":"1"}]"#, r#"[{"manager":"a","time":"2","subresource":"s"}]"#, false);
        check(r#"[{"manager":"a","time":"1"}]"#, "[]", false);
    }
}
