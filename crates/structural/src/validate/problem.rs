//! Errors of the validator, and how they become errors of fields.

use std::collections::HashSet;

use keelson_object::field_error::FieldErrorKind;
use keelson_object::scalar::quote;
use keelson_object::{FieldError, FieldErrors, Path};

use super::at::At;
use crate::values::Raw;

/// As many problems are kept: a list of a million wrong items needs no million messages.
const MAX_PROBLEMS: usize = 10_000;

/// What was found at a value and below it.
#[derive(Default)]
pub(super) struct Outcome {
    problems: Vec<Problem>,
    /// How many groups of keywords were content.
    pub(super) matches: u64,
}

struct Problem {
    kind: FieldErrorKind,
    /// The path of the validator; `None` for what is reported at the whole value.
    name: Option<String>,
    shown: String,
    detail: String,
    /// Upstream's message if it differs from the detail: problems with equal messages are reported once.
    message: Option<String>,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn matched(&mut self) {
        self.matches += 1;
    }

    /// Forgets the problems: the value did not change.
    pub(super) fn forgive(&mut self) {
        self.problems = Vec::new();
    }

    pub(super) fn merge(&mut self, other: Outcome) {
        self.matches += other.matches;
        if self.problems.is_empty() {
            self.problems = other.problems;
        } else {
            let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
            self.problems.extend(other.problems.into_iter().take(room));
        }
    }

    fn add(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// A value that breaks a limit: `spec.x in body should …`.
    pub(super) fn invalid(&mut self, at: At<'_>, shown: String, what: &str) {
        let name = at.name();
        let detail = format!("{name} in body {what}");
        self.add(Problem { kind: FieldErrorKind::Invalid, name: Some(name), shown, detail, message: None });
    }

    /// A value with a message of its own, which is reported at the path of the value.
    pub(super) fn invalid_with(&mut self, at: At<'_>, shown: String, detail: String) {
        let name = Some(at.name());
        self.add(Problem { kind: FieldErrorKind::Invalid, name, shown, detail, message: None });
    }

    /// A problem that upstream does not tie to a path.
    pub(super) fn whole(&mut self, detail: String) {
        let shown = String::from("\"\"");
        self.add(Problem { kind: FieldErrorKind::Invalid, name: None, shown, detail, message: None });
    }

    pub(super) fn wrong_type(&mut self, at: At<'_>, wanted: &str, found: &str) {
        let name = at.name();
        let shown = quote(found);
        let detail = format!("{name} in body must be of type {wanted}: {shown}");
        self.add(Problem {
            kind: FieldErrorKind::TypeInvalid,
            name: Some(name),
            shown,
            detail,
            message: None,
        });
    }

    pub(super) fn required(&mut self, at: At<'_>) {
        let name = at.name();
        let message = Some(format!("{name} in body is required"));
        let kind = FieldErrorKind::Required;
        self.add(Problem { kind, name: Some(name), shown: String::new(), detail: String::new(), message });
    }

    pub(super) fn not_supported(&mut self, at: At<'_>, shown: String, detail: String, message: String) {
        let (kind, name) = (FieldErrorKind::NotSupported, Some(at.name()));
        self.add(Problem { kind, name, shown, detail, message: Some(message) });
    }

    pub(super) fn too_long(&mut self, at: At<'_>, max: i64) {
        let name = at.name();
        let message = Some(format!("{name} in body should be at most {max} chars long"));
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        let kind = FieldErrorKind::TooLong;
        self.add(Problem { kind, name: Some(name), shown: String::new(), detail, message });
    }

    pub(super) fn too_many(&mut self, at: At<'_>, what: &str, (found, max): (i64, i64)) {
        let name = at.name();
        let message = Some(format!("{name} in body should have at most {max} {what}"));
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        let kind = FieldErrorKind::TooMany;
        self.add(Problem { kind, name: Some(name), shown: found.to_string(), detail, message });
    }

    /// The problems as errors of fields below `base`, none twice.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apiserver/validation/validation.go, kubeOpenAPIResultToFieldErrors
    /// (v1.36.4).
    pub(super) fn into_field_errors(self, base: &str) -> FieldErrors {
        let mut seen = HashSet::new();
        let mut errors = FieldErrors::default();
        for problem in self.problems {
            let message = problem.message.clone().unwrap_or_else(|| problem.detail.clone());
            if seen.insert(message) {
                problem.push_to(&mut errors, base);
            }
        }
        errors
    }
}

impl Problem {
    fn push_to(self, errors: &mut FieldErrors, base: &str) {
        let name = self.name.as_deref().filter(|name| *name != ".").unwrap_or_default();
        let below = name.strip_prefix('.').unwrap_or(name);
        let field = match (base.is_empty(), name.is_empty()) {
            (true, true) => String::from("<nil>"),
            (true, false) => below.to_owned(),
            (false, true) => base.to_owned(),
            (false, false) => format!("{base}.{below}"),
        };
        let at = Path::root(&field);
        match self.kind {
            FieldErrorKind::Invalid => errors.invalid(&at, Raw(self.shown), self.detail),
            FieldErrorKind::TypeInvalid => errors.type_invalid(&at, Raw(self.shown), self.detail),
            kind => errors.push(FieldError { kind, field, shown: self.shown, detail: self.detail }),
        }
    }
}
