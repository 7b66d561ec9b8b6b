//! Check of a store: whether every value is an object of its key.

use std::collections::BTreeMap;
use std::sync::Arc;

use keelson_codec::{json, protobuf, stored};
use keelson_store::{Entry, Transform, Transforms};

/// The limit of problems that are shown.
const SHOWN: usize = 20;

/// The result of a check.
#[derive(Default)]
pub(super) struct Report {
    counts: BTreeMap<String, u64>,
    encrypted: u64,
    problems: Vec<String>,
    problem_count: u64,
}

impl Report {
    pub(super) fn is_good(&self) -> bool {
        self.problem_count == 0
    }

    fn problem(&mut self, text: String) {
        self.problem_count += 1;
        if self.problems.len() < SHOWN {
            self.problems.push(text);
        }
    }

    /// The result as text.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> =
            self.counts.iter().map(|(resource, count)| format!("{count:>10}  {resource}")).collect();
        let total: u64 = self.counts.values().sum();
        lines.push(format!("{total:>10}  entries"));
        if self.encrypted > 0 {
            lines.push(format!(
                "{:>10}  of them encrypted and not looked into; give --encryption-provider-config to do so",
                self.encrypted
            ));
        }
        lines.extend(self.problems.iter().cloned());
        let hidden = self.problem_count - self.problems.len() as u64;
        if hidden > 0 {
            lines.push(format!("and {hidden} more"));
        }
        lines.push(match self.problem_count {
            0 => "everything can be read".to_owned(),
            1 => "1 entry cannot be read".to_owned(),
            count => format!("{count} entries cannot be read"),
        });
        lines.join("\n") + "\n"
    }
}

/// Checks entries, one after the other.
pub(super) struct Checker {
    /// The key prefixes of resources, with their names and transforms: `/registry/pods/`.
    places: BTreeMap<String, (String, Option<Arc<dyn Transform>>)>,
    transforms: Option<Arc<dyn Transforms>>,
    /// The prefix of all keys.
    root: String,
    report: Report,
}

impl Checker {
    /// A checker of entries under `root`; `transforms` decrypt encrypted values.
    pub(super) fn new(root: String, transforms: Option<Arc<dyn Transforms>>) -> Checker {
        let mut places = BTreeMap::new();
        for group in keelson_apis::groups(&keelson_apis::Settings::default()) {
            for resource in &group.resources {
                let transform = transforms.as_ref().map(|it| it.of(&resource.group, &resource.plural));
                let path = format!("{root}{}/", resource.storage_path.trim_matches('/'));
                places.entry(path).or_insert((resource.group_resource().to_string(), transform));
            }
        }
        Checker { places, transforms, root, report: Report::default() }
    }

    pub(super) async fn look(&mut self, entry: Entry) {
        let (name, transform) = self.resource(entry.key.as_str());
        *self.report.counts.entry(name).or_default() += 1;
        let is_encrypted = entry.value.starts_with(b"k8s:enc:");
        let value = match transform {
            Some(transform) => transform.open(&entry.key, &entry.value).await.map(|it| it.value),
            None if is_encrypted => {
                self.report.encrypted += 1;
                return;
            }
            None => Ok(entry.value.clone()),
        };
        let problem = match value {
            Ok(value) => problem(&Entry { value, ..entry.clone() }, &self.root),
            Err(error) => Some(error.problem),
        };
        if let Some(problem) = problem {
            self.report.problem(format!("{} (revision {}): {problem}", entry.key, entry.modified));
        }
    }

    pub(super) fn end(self) -> Report {
        self.report
    }

    /// The resource of a key: a built-in one, or `<plural>.<group>` of a custom one.
    fn resource(&self, key: &str) -> (String, Option<Arc<dyn Transform>>) {
        let nearest = key.rmatch_indices('/').find_map(|(at, _)| self.places.get(&key[..=at]));
        if let Some((name, transform)) = nearest {
            return (name.clone(), transform.clone());
        }
        let mut parts = key.strip_prefix(&*self.root).unwrap_or(key).split('/');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if !first.contains('.') {
            return (first.to_owned(), None);
        }
        (format!("{second}.{first}"), self.transforms.as_ref().map(|it| it.of(first, second)))
    }
}

/// What is wrong with a value, if anything.
fn problem(entry: &Entry, root: &str) -> Option<String> {
    if entry.value.starts_with(b"k8s\0") {
        let envelope = protobuf::Envelope::read(&entry.value).map_err(|error| error.to_string());
        return envelope.and_then(|it| it.decode().map_err(|error| error.to_string())).err();
    }
    // Ranges and leases of servers have no name of their own.
    let is_object = !["ranges/", "masterleases/"]
        .iter()
        .any(|place| entry.key.as_str().strip_prefix(root).is_some_and(|rest| rest.starts_with(place)));
    if is_object {
        return stored::decode(&entry.value, entry.modified.get(), &[]).err().map(|error| error.to_string());
    }
    json::read(&entry.value).err().map(|error| error.to_string())
}
