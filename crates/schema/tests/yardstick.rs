//! Every kind with every field filled, as upstream writes it: conforming changes nothing.

use std::path::PathBuf;

use keelson_codec::json;
use keelson_schema::Schema;

#[test]
fn samples_of_every_kind_are_in_their_one_form() {
    let Some(folder) = yardstick() else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(folder.join("samples")).expect("the folder of samples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|it| it == "json") {
            check(&path);
            checked += 1;
        }
    }
    assert!(checked >= 185, "only {checked} samples");
}

fn check(path: &std::path::Path) {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let (rest, kind) = name.rsplit_once('.').expect("a kind");
    let (group, version) = rest.rsplit_once('.').expect("a version");
    let group = if group == "core" { "" } else { group };
    let schema = Schema::builtin(group, version, kind).unwrap_or_else(|| panic!("{name} is not built in"));
    let text = std::fs::read(path).expect("the sample");
    let mut value = json::read(&text).expect("JSON").value;
    let before = json::to_bytes(&value);
    let unknown = schema.conform(&mut value).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(unknown.is_empty(), "{name} has unknown fields: {unknown:?}");
    let after = json::to_bytes(&value);
    assert!(before == after, "{name}\nbefore {}\nafter  {}", before.escape_ascii(), after.escape_ascii());
}

/// The folder of upstream's published data, or a line in the report of skipped tests.
fn yardstick() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("KEELSON_YARDSTICKS") {
        return Some(folder.into());
    }
    if let Some(report) = std::env::var_os("KEELSON_SKIP_REPORT") {
        use std::io::Write as _;
        let mut report = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(report)
            .expect("the report of skipped tests");
        writeln!(report, "schema yardstick: KEELSON_YARDSTICKS is not set").expect("a line in the report");
    }
    None
}
