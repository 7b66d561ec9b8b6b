//! Where in a document the walk is: a chain of steps on the stack, made to text only when there is a need.

use std::fmt::Write as _;

use crate::types::{Field, Struct};

/// One step below `parent`.
pub(super) struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
    depth: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A field of a struct.
    Field(&'a Struct, &'a Field),
    /// An item of a list.
    Index(usize),
    /// A value of a map.
    Key(&'a str),
    /// Into a value that upstream decodes by itself.
    Inside,
}

impl<'a> Place<'a> {
    pub(super) fn under(parent: Option<&'a Place<'a>>, step: Step<'a>) -> Place<'a> {
        Place { parent, step, depth: parent.map_or(0, |place| place.depth) + 1 }
    }

    /// How many steps it is from the root.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// From the root to here.
    fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = vec![self.step];
        let mut next = self.parent;
        while let Some(place) = next {
            steps.push(place.step);
            next = place.parent;
        }
        steps.reverse();
        steps
    }
}

/// The path of the field `key` below `at`, as strict decoding names it: `spec.containers[0].foo`.
pub(super) fn path(at: Option<&Place<'_>>, key: &str) -> String {
    let mut path = String::new();
    for step in at.map(Place::steps).unwrap_or_default() {
        match step {
            Step::Field(_, field) => push(&mut path, &field.name),
            Step::Key(key) => push(&mut path, key),
            Step::Index(index) => {
                let _ = write!(path, "[{index}]");
            }
            Step::Inside => {}
        }
    }
    push(&mut path, key);
    path
}

fn push(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(part);
}

/// What type errors name: the struct that declares the last field, and all fields on the way, embedded structs
/// among them; items and keys are not named. Of a value that decodes itself the struct around it is named.
pub(super) fn owner_and_fields(at: Option<&Place<'_>>) -> Option<(String, String)> {
    let mut owner = None;
    let mut is_inside = false;
    let mut path = String::new();
    for step in at.map(Place::steps).unwrap_or_default() {
        match step {
            Step::Field(of, field) => {
                if !is_inside {
                    owner = Some(of.name.to_string());
                }
                for embedded in &field.embedded {
                    push(&mut path, embedded);
                }
                push(&mut path, &field.name);
            }
            Step::Inside => is_inside = true,
            Step::Index(_) | Step::Key(_) => {}
        }
    }
    owner.map(|owner| (owner, path))
}
