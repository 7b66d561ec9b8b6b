//! Patterns of schemas (`pattern`): regular expressions that stay compiled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keelson_structural::Patterns;

use super::Regex;

/// As many expressions are kept; then all are forgotten, because few servers have as many.
const MAX_KEPT: usize = 1024;

/// Compiled patterns, shared by all who validate.
#[derive(Debug, Default)]
pub struct CompiledPatterns(Mutex<HashMap<String, Compiled>>);

type Compiled = Result<Arc<Regex>, String>;

impl CompiledPatterns {
    fn compiled(&self, pattern: &str) -> Compiled {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = kept.get(pattern) {
            return compiled.clone();
        }
        let compiled = Regex::new(pattern).map(Arc::new).map_err(|error| error.to_string());
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), compiled.clone());
        compiled
    }
}

impl Patterns for CompiledPatterns {
    fn is_match(&self, pattern: &str, text: &str) -> Result<bool, String> {
        self.compiled(pattern).map(|regex| regex.is_match(text))
    }

    fn problem(&self, pattern: &str) -> Option<String> {
        Regex::check(pattern).err().map(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use keelson_structural::Patterns as _;

    use super::CompiledPatterns;

    #[test]
    fn patterns_have_the_syntax_of_go() {
        let patterns = CompiledPatterns::default();
        assert_eq!(patterns.is_match("^a+$", "aa"), Ok(true));
        assert_eq!(patterns.is_match("^a+$", "ab"), Ok(false));
        let problem = "error parsing regexp: missing closing ): `(a`".to_owned();
        assert_eq!(patterns.is_match("(a", ""), Err(problem.clone()));
        assert_eq!(patterns.problem("(a"), Some(problem));
        assert_eq!(patterns.problem(""), None);
        assert_eq!(patterns.problem(r"^\d{3}(?i)x|y$"), None);
    }
}
