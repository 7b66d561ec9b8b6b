//! Where in an object something is: `spec.containers[0].image`.

use std::fmt;

/// A field path, grown while walking down an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// The path of the object itself.
    pub const fn empty() -> Path {
        Path(String::new())
    }

    /// The path of a top-level field.
    pub fn root(field: &str) -> Path {
        Path(field.to_owned())
    }

    /// The field `name` below this one.
    pub fn key(&self, name: &str) -> Path {
        if self.0.is_empty() { Path::root(name) } else { Path(format!("{}.{name}", self.0)) }
    }

    /// The item at `position` of this list.
    pub fn index(&self, position: usize) -> Path {
        Path(format!("{}[{position}]", self.0))
    }

    /// The entry of this map under `key`, which is data and not a field name.
    pub fn entry(&self, key: &str) -> Path {
        Path(format!("{}[{key}]", self.0))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn paths_read_as_upstream_writes_them() {
        let path = Path::root("spec").key("containers").index(0).key("image");
        assert_eq!(path.to_string(), "spec.containers[0].image");
        assert_eq!(Path::root("metadata").key("labels").entry("a/b").to_string(), "metadata.labels[a/b]");
        assert_eq!(Path::empty().to_string(), "<nil>");
    }
}
