//! Several errors as one text.

/// One error as it is, several in brackets, each of them once.
///
/// Upstream: apimachinery/pkg/util/errors/errors.go, aggregate.Error (v1.36.4).
#[must_use]
pub fn aggregate<T: AsRef<str>>(errors: &[T]) -> Option<String> {
    let mut seen: Vec<&str> = Vec::new();
    for error in errors.iter().map(AsRef::as_ref) {
        if !seen.contains(&error) {
            seen.push(error);
        }
    }
    match seen[..] {
        [] => None,
        [one] => Some(one.to_owned()),
        _ => Some(format!("[{}]", seen.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::aggregate;

    #[test]
    fn the_same_is_said_once() {
        assert_eq!(aggregate::<&str>(&[]), None);
        assert_eq!(aggregate(&["a", "a"]).as_deref(), Some("a"));
        assert_eq!(aggregate(&["a", "b", "a"]).as_deref(), Some("[a, b]"));
    }
}
