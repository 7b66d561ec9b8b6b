//! Where the validator is: its own form of paths, in which additional properties have a dot even at the root.

/// A path, grown on the stack of the walk. Text is made of it only for errors.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    parent: Option<&'p At<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Property(&'p str),
    Additional(&'p str),
    Index(usize),
}

impl<'p> At<'p> {
    pub(super) const ROOT: At<'static> = At { parent: None, step: Step::Root };

    pub(super) fn property(&'p self, name: &'p str) -> At<'p> {
        At { parent: Some(self), step: Step::Property(name) }
    }

    pub(super) fn additional(&'p self, name: &'p str) -> At<'p> {
        At { parent: Some(self), step: Step::Additional(name) }
    }

    pub(super) fn index(&'p self, index: usize) -> At<'p> {
        At { parent: Some(self), step: Step::Index(index) }
    }

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// The path as errors name it: `spec.list[0].x`, or `.x` for an additional property of the root.
    pub(super) fn name(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(here) = at {
            steps.push(here.step);
            at = here.parent;
        }
        let mut name = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Property(key) if name.is_empty() => name.push_str(key),
                Step::Property(key) | Step::Additional(key) => {
                    name.push('.');
                    name.push_str(key);
                }
                Step::Index(index) => name.push_str(&format!("[{index}]")),
            }
        }
        name
    }
}
