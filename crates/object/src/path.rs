//! Field paths: `spec.containers[0].image`.
//!
//! A path is a chain of steps on the stack of the function that walks the object; it becomes text only if
//! there is an error to report. Validation of a valid object allocates nothing for paths.

use std::fmt;

/// A field path, grown while walking down an object.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Nothing,
    Field(&'p str),
    Index(usize),
    Entry(&'p str),
}

impl<'p> Path<'p> {
    /// The path of the object itself.
    pub const fn empty() -> Path<'p> {
        Path { parent: None, step: Step::Nothing }
    }

    /// The path of a top-level field, or of fields below each other: `metadata.labels`.
    pub const fn root(field: &'p str) -> Path<'p> {
        Path { parent: None, step: Step::Field(field) }
    }

    /// The field `name` below this one, or several below each other: `fieldRef.fieldPath`.
    pub fn key(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// The item at `position` of this list.
    pub fn index(&'p self, position: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Index(position) }
    }

    /// The entry `key` of this map, whose keys are data and not field names.
    pub fn entry(&'p self, key: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Entry(key) }
    }

    fn is_empty(&self) -> bool {
        matches!(self.step, Step::Nothing) && self.parent.is_none_or(Path::is_empty)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.write(f)?;
        }
        match self.step {
            Step::Nothing => Ok(()),
            Step::Field(name) if self.parent.is_none_or(Path::is_empty) => f.write_str(name),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(position) => write!(f, "[{position}]"),
            Step::Entry(key) => write!(f, "[{key}]"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { f.write_str("<nil>") } else { self.write(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn paths_read_as_upstream_writes_them() {
        let check = |path: &Path<'_>, expected: &str| assert_eq!(path.to_string(), expected);
        check(&Path::root("spec").key("containers").index(0).key("image"), "spec.containers[0].image");
        check(&Path::root("metadata").key("labels").entry("a/b"), "metadata.labels[a/b]");
        check(&Path::empty().key("spec"), "spec");
        check(&Path::empty(), "<nil>");
        check(&Path::empty().index(1), "[1]");
    }
}
