//! CreateOptions, UpdateOptions and PatchOptions.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go (v1.36.4).

use keelson_merge::apply::{Force, manager_of_user_agent};
use keelson_object::{FieldErrors, Path, SmolStr, Value};
use keelson_registry::DryRun;
use keelson_registry::lifecycle::manager_rules::check_manager;
use keelson_registry::options::FieldValidation;

use super::refuse_if_any;
use crate::error::Result;
use crate::query::Query;

/// The options of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteParams {
    /// Whether it is a dry run.
    pub(crate) dry_run: DryRun,
    /// The handling of unknown and duplicate fields.
    pub(crate) validation: FieldValidation,
    /// The field manager; if it is empty, it is taken from the user agent.
    pub(crate) field_manager: SmolStr,
    /// Whether an apply takes fields over from other managers.
    pub(crate) force: Force,
}

/// The kind of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// `CreateOptions`.
    Create,
    /// `UpdateOptions`.
    Update,
    /// `PatchOptions`.
    Patch,
    /// `PatchOptions` of a server-side apply.
    Apply,
}

impl Writing {
    fn kind(self) -> &'static str {
        match self {
            Writing::Create => "CreateOptions",
            Writing::Update => "UpdateOptions",
            Writing::Patch | Writing::Apply => "PatchOptions",
        }
    }
}

/// Parses and validates the options of a write.
pub(crate) fn write(query: &Query<'_>, writing: Writing) -> Result<WriteParams> {
    let field_manager = query.get("fieldManager").unwrap_or_default();
    let mut errors = FieldErrors::default();
    let force = query.switch("force");
    match (writing, field_manager, force) {
        (Writing::Apply, "", _) => {
            errors.required(&Path::root("fieldManager"), "is required for apply patch")
        }
        (Writing::Patch, _, Some(_)) => {
            errors.forbidden(&Path::root("force"), "may not be specified for non-apply patch");
        }
        _ => {}
    }
    check_manager(field_manager, &Path::root("fieldManager"), &mut errors);
    let dry_run = dry_run(query.all("dryRun"), &mut errors);
    let validation = validation(query.get("fieldValidation").unwrap_or_default(), &mut errors);
    refuse_if_any(writing.kind(), errors)?;
    let force = if force == Some(true) { Force::Yes } else { Force::No };
    Ok(WriteParams { dry_run, validation, field_manager: field_manager.into(), force })
}

/// The field manager: the given name, or the first word of the user agent.
///
/// Upstream: apiserver/pkg/endpoints/handlers/create.go, managerOrUserAgent (v1.36.4).
pub(crate) fn field_manager(given: &str, user_agent: &str) -> SmolStr {
    if given.is_empty() { manager_of_user_agent(user_agent).into() } else { given.into() }
}

pub(super) fn dry_run<'v>(values: impl Iterator<Item = &'v str>, errors: &mut FieldErrors) -> DryRun {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|it| *it != "All") {
        let shown = Value::List(values.iter().map(|it| Value::String(SmolStr::new(it))).collect());
        errors.not_supported(&Path::root("dryRun"), &shown, &["All"]);
    }
    if values.is_empty() { DryRun::Off } else { DryRun::All }
}

fn validation(text: &str, errors: &mut FieldErrors) -> FieldValidation {
    match text {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            errors.not_supported(&Path::root("fieldValidation"), other, &["", "Ignore", "Strict", "Warn"]);
            FieldValidation::Warn
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Writing, field_manager, write};
    use crate::error::Error;
    use crate::query::Query;

    #[track_caller]
    fn check(query: &str, expected: &str) {
        let found = match write(&Query::parse(query), Writing::Create) {
            Ok(it) => format!("{:?} {:?} {}", it.dry_run, it.validation, it.field_manager),
            Err(Error::InvalidOptions { kind, errors }) => format!("{kind} {}", errors.to_text()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn write_options_are_judged() {
        check("", "Off Warn ");
        check("dryRun=All&fieldValidation=Strict&fieldManager=me", "All Strict me");
        check("dryRun=All&dryRun=All", "All Warn ");
        check("dryRun=Foo", "CreateOptions dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\"");
        check(
            "fieldValidation=Foo",
            "CreateOptions fieldValidation: Unsupported value: \"Foo\": supported values: \"\", \"Ignore\", \
             \"Strict\", \"Warn\"",
        );
        check(
            &format!("fieldManager={}", "x".repeat(129)),
            "CreateOptions fieldManager: Too long: may not be more than 128 bytes",
        );
        check(
            "fieldManager=a%0Ab",
            "CreateOptions fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)",
        );
    }

    #[test]
    fn the_user_agent_names_the_manager() {
        let check =
            |given: &str, agent: &str, expected: &str| assert_eq!(field_manager(given, agent), expected);
        check("me", "kubectl/v1.36", "me");
        check("", "kubectl/v1.36 (linux/amd64)", "kubectl");
        check("", "", "");
        check("", &"x".repeat(200), &"x".repeat(128));
    }
}
