//! Several errors as one text.

/// Every text once; brackets around more than one.
///
/// Upstream: apimachinery/pkg/util/errors/errors.go, aggregate.Error (v1.36.4).
pub(crate) fn aggregate(mut texts: Vec<String>) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|it| seen.insert(it.clone()));
    match texts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::aggregate;

    #[track_caller]
    fn check(texts: &[&str], expected: Option<&str>) {
        assert_eq!(aggregate(texts.iter().copied().map(String::from).collect()).as_deref(), expected);
    }

    #[test]
    fn texts_are_said_once() {
        check(&[], None);
        check(&["a"], Some("a"));
        check(&["a", "a"], Some("a"));
        check(&["a", "b", "a"], Some("[a, b]"));
    }
}
