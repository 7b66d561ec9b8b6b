//! `/`: the list of paths.

use std::fmt::Write as _;

/// `{"paths": […]}`, sorted.
pub fn document(paths: impl IntoIterator<Item = String>) -> String {
    let mut paths: Vec<String> = paths.into_iter().collect();
    paths.sort();
    paths.dedup();
    let mut out = String::from("{\n  \"paths\": [");
    for (position, path) in paths.iter().enumerate() {
        let separator = if position == 0 { "" } else { "," };
        let _ = write!(out, "{separator}\n    \"{path}\"");
    }
    out.push_str(if paths.is_empty() { "]\n}" } else { "\n  ]\n}" });
    out
}

#[cfg(test)]
mod tests {
    use super::document;

    #[test]
    fn paths_are_sorted_and_unique() {
        let check = |paths: &[&str], expected: &str| {
            assert_eq!(document(paths.iter().map(|it| (*it).to_owned())), expected);
        };
        check(&["/b", "/a", "/b"], "{\n  \"paths\": [\n    \"/a\",\n    \"/b\"\n  ]\n}");
        check(&[], "{\n  \"paths\": []\n}");
    }
}
