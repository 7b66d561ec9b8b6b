//! Keys, and how objects are laid out in them.
//!
//! ```text
//! /registry/pods/default/nginx                                    built-in, namespaced
//! /registry/minions/node-1                                        built-in, cluster
//! /registry/apiextensions.k8s.io/customresourcedefinitions/x.y.z  a group that writes its name
//! /registry/stable.example.com/crontabs/default/nightly           custom
//! └─ root ┘└────── resource ──────────┘└─ ns ─┘└ name ┘
//! ```
//!
//! The trailing slash of a prefix keeps `/registry/pods/` apart from `/registry/podtemplates/`.

use std::fmt;
use std::sync::Arc;

/// The name of an entry. Ordered by bytes, cheap to clone.
///
/// A prefix is a key, too: it means all keys that begin with its text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The key with this text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Key {
        Key(text.into())
    }

    /// The text of the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this key begins with `prefix`.
    #[must_use]
    pub fn is_under(&self, prefix: &Key) -> bool {
        self.0.starts_with(&*prefix.0)
    }
}

impl std::borrow::Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key(text.into())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Key {
        Key(text.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// The layout of a store: the root key of all resources, and the form of values.
#[derive(Clone, Debug)]
pub struct Layout {
    root: String,
    form: Form,
}

/// The stored form of objects of built-in kinds. Stores do not read values, and readers accept all forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// JSON as clients get it: loading an object at start-up is a scan.
    #[default]
    Json,
    /// Protobuf as upstream's server writes it, in an envelope with the kind.
    Protobuf,
}

impl Layout {
    /// All keys are under `root`, which has a leading and no trailing slash: `/registry`.
    #[must_use]
    pub fn new(root: &str) -> Layout {
        Layout { root: format!("/{}", root.trim_matches('/')), form: Form::default() }
    }

    /// The same layout with another form.
    #[must_use]
    pub fn with_form(self, form: Form) -> Layout {
        Layout { form, ..self }
    }

    /// The form of values.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The keys of one resource. `path` may have more than one part: `services/specs`,
    /// `stable.example.com/crontabs`.
    #[must_use]
    pub fn resource(&self, path: &str) -> ResourceKeys {
        ResourceKeys { prefix: Key::from(format!("{}/{}/", self.root, path.trim_matches('/'))) }
    }
}

impl Default for Layout {
    fn default() -> Layout {
        Layout::new("/registry")
    }
}

/// The keys of the objects of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceKeys {
    prefix: Key,
}

impl ResourceKeys {
    /// The prefix of all objects: `/registry/pods/`.
    #[must_use]
    pub fn all(&self) -> &Key {
        &self.prefix
    }

    /// The prefix of the objects in a namespace: `/registry/pods/default/`.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Key {
        Key::from(format!("{}{namespace}/", self.prefix))
    }

    /// The key of an object in a namespace: `/registry/pods/default/nginx`.
    #[must_use]
    pub fn namespaced(&self, namespace: &str, name: &str) -> Key {
        Key::from(format!("{}{namespace}/{name}", self.prefix))
    }

    /// The key of an object of the cluster: `/registry/minions/node-1`.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Key {
        Key::from(format!("{}{name}", self.prefix))
    }

    /// The namespace (if there is one) and the name in a key of this resource.
    #[must_use]
    pub fn parse<'k>(&self, key: &'k Key) -> Option<(Option<&'k str>, &'k str)> {
        let rest = key.as_str().strip_prefix(self.prefix.as_str())?;
        match rest.split_once('/') {
            None => Some((None, rest)),
            Some((namespace, name)) if !name.contains('/') => Some((Some(namespace), name)),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Layout};

    #[track_caller]
    fn check(path: &str, namespace: Option<&str>, name: &str, expected: &str) {
        let keys = Layout::default().resource(path);
        let key = match namespace {
            Some(namespace) => keys.namespaced(namespace, name),
            None => keys.cluster(name),
        };
        assert_eq!(key.as_str(), expected);
        assert_eq!(keys.parse(&key), Some((namespace, name)));
        assert!(key.is_under(keys.all()));
    }

    #[test]
    fn keys_have_the_layout_of_upstream() {
        check("pods", Some("default"), "nginx", "/registry/pods/default/nginx");
        check("minions", None, "node-1", "/registry/minions/node-1");
        check("services/specs", Some("default"), "web", "/registry/services/specs/default/web");
        check("stable.example.com/crontabs", Some("a"), "b", "/registry/stable.example.com/crontabs/a/b");
    }

    #[test]
    fn a_prefix_ends_with_a_slash() {
        let pods = Layout::new("registry/").resource("pods");
        assert_eq!(pods.all().as_str(), "/registry/pods/");
        assert_eq!(pods.in_namespace("default").as_str(), "/registry/pods/default/");
        assert!(!Key::from("/registry/podtemplates/a/b").is_under(pods.all()));
    }

    #[test]
    fn foreign_keys_are_not_parsed() {
        let pods = Layout::default().resource("pods");
        assert_eq!(pods.parse(&Key::from("/registry/secrets/a/b")), None);
        assert_eq!(pods.parse(&Key::from("/registry/pods/a/b/c")), None);
    }

    #[test]
    fn keys_are_ordered_by_bytes() {
        let mut keys = ["/a/b", "/a-b", "/a/", "/a", "/B"].map(Key::from);
        keys.sort();
        assert_eq!(keys.map(|key| key.as_str().to_owned()), ["/B", "/a", "/a-b", "/a/", "/a/b"]);
    }
}
