//! Field names in rules: every literal that names a field must be a field of some schema table.
//!
//! A misspelled name compiles, and the rule that uses it never matches. See
//! docs/decisions/0014-field-names-are-checked.md.

use std::collections::BTreeSet;

use super::files::SourceFile;

/// Crates whose rules read and write fields by name.
const CRATES: &[&str] = &["apis", "kube-admission", "authz", "housekeeping", "registry"];

/// Methods of `Map` and `Path` whose first argument is a field name.
const METHODS: &[&str] = &[
    "bool",
    "default_to",
    "get",
    "get_mut",
    "int",
    "keep",
    "key",
    "list",
    "map",
    "map_mut",
    "maps",
    "push_new",
    "remove",
    "set",
    "str",
    "strings",
];

/// Files that read something other than API objects.
const OTHER_DOCUMENTS: &[(&str, &str)] = &[
    ("configuration.rs", "configuration files of admission plugins have no tables"),
    ("registry/src/operation/page.rs", "continue tokens"),
];

/// Names that no table has, and why they are used.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("configuration", "key in the audit annotation of a mutating webhook"),
    ("cpu", "resource name"),
    ("initiatorname", "upstream's path in an error"),
    ("memory", "resource name"),
    ("preferAvoidPods", "field of the JSON in a node annotation"),
    ("provider", "label of the kubernetes service"),
    ("ssh-privatekey", "key in the data of a secret"),
    ("targetportal", "upstream's path in an error"),
    ("validation", "field of v1beta1 CustomResourceDefinitions"),
    ("webhookClientConfig", "field of v1beta1 CustomResourceDefinitions"),
    ("whitelist", "field of the configuration of PodTolerationRestriction"),
];

/// The fields of all schema tables.
pub struct Names(BTreeSet<String>);

impl Names {
    /// A line of a table that begins with two spaces declares a field; its first word is the name.
    pub fn of(files: &[SourceFile]) -> Names {
        let tables = files.iter().filter(|file| file.path.ends_with(".table"));
        let lines = tables.flat_map(|file| file.text.lines());
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        Names(names.map(|name| name.trim_matches('"').to_owned()).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(name) || EXCEPTIONS.iter().any(|(exception, _)| *exception == name)
    }
}

/// The unknown field names of a file, with their lines.
pub fn violations(file: &SourceFile, names: &Names) -> Vec<String> {
    if !has_rules(&file.path) {
        return Vec::new();
    }
    let code = file.text.split("#[cfg(test)]").next().unwrap_or_default();
    let unknown = literals(code).into_iter().filter(|(_, name)| !names.has(name));
    let describe = |(line, name)| {
        format!("{}:{line}: \"{name}\" is not a field of any schema table; is it misspelled?", file.path)
    };
    unknown.map(describe).collect()
}

fn has_rules(path: &str) -> bool {
    path.ends_with(".rs")
        && CRATES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")))
        && !path.ends_with("/tests.rs")
        && !path.contains("/tests/")
        && !OTHER_DOCUMENTS.iter().any(|(end, _)| path.ends_with(end))
}

/// Literals of calls such as `.map("spec")`, also if the argument is on the next line, with their line numbers.
fn literals(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('.') {
        let call = &code[at + 1..];
        let Some((method, arguments)) = call.split_once('(') else { continue };
        if !METHODS.contains(&method) {
            continue;
        }
        let Some(literal) = arguments.trim_start().strip_prefix('"') else { continue };
        let Some((name, _)) = literal.split_once('"') else { continue };
        // Fields begin with a small letter. Capitals begin Go's own names, which some of upstream's messages print.
        let is_one_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '$' | '_' | '-');
        if name.starts_with(|c: char| !c.is_ascii_uppercase()) && name.chars().all(is_one_name) {
            found.push((1 + code[..at].matches('\n').count(), name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, code: &str, expected: &[&str]) {
        let table = SourceFile {
            path: String::from("crates/schema/src/generated/apps_v1.table"),
            text: String::from(
                "type DeploymentSpec\n  replicas *int32 1 omitempty\n  paused bool 7 omitempty\n",
            ),
        };
        let file = SourceFile { path: path.to_owned(), text: code.to_owned() };
        assert_eq!(violations(&file, &Names::of(&[table])), expected, "{code}");
    }

    #[test]
    fn a_misspelled_field_is_found() {
        let path = "crates/apis/src/apps/deployment.rs";
        check(path, "spec.int(\"replicas\"); at.key(\"paused\");", &[]);
        let line = "crates/apis/src/apps/deployment.rs:2: \"replica\" is not a field of any schema table; is it misspelled?";
        check(path, "//! Deployments.\nspec.int(\"replica\");", &[line]);
        check(path, "spec\n    .int(\n        \"replica\",\n    );", &[line]);
    }

    #[test]
    fn tests_paths_and_other_calls_are_not_checked() {
        let path = "crates/apis/src/apps/deployment.rs";
        check(path, "#[cfg(test)]\nmod tests { fn a() { spec.int(\"replica\"); } }", &[]);
        check(path, "name.starts_with(\"replica\"); at.key(\"spec.template\"); at.key(name);", &[]);
        check("crates/apis/src/apps/tests.rs", "spec.int(\"replica\");", &[]);
        check("crates/server/src/a.rs", "spec.int(\"replica\");", &[]);
    }

    #[test]
    fn exceptions_are_needed() {
        let root = crate::repo::Repo::find();
        let files = super::super::files::read_all(root.root()).expect("the repository can be read");
        let Names(fields) = Names::of(&files);
        for (name, reason) in EXCEPTIONS {
            assert!(!fields.contains(*name), "{name} ({reason}) is a field of a table");
            let used = files
                .iter()
                .filter(|file| has_rules(&file.path))
                .any(|file| literals(&file.text).iter().any(|(_, literal)| literal == name));
            assert!(used, "{name} ({reason}) is not used");
        }
    }
}
