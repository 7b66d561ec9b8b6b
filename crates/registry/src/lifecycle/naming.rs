//! Generated names: the prefix and five characters.

use keelson_object::SmolStr;
use rand::RngExt as _;

/// No vowels and no look-alike characters, so that names contain no words and are not misread.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
/// A name has at most 63 characters; the prefix gives way.
const LONGEST_PREFIX: usize = 63 - SUFFIX;

/// How many names are tried before giving up.
pub const ATTEMPTS: usize = 8;

/// A name that begins with `prefix`.
pub fn generate(prefix: &str) -> SmolStr {
    let mut end = prefix.len().min(LONGEST_PREFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::with_capacity(end + SUFFIX);
    name.push_str(&prefix[..end]);
    let mut random = rand::rng();
    for _ in 0..SUFFIX {
        name.push(char::from(ALPHABET[random.random_range(0..ALPHABET.len())]));
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn a_generated_name_has_the_prefix_and_fits() {
        let name = generate("web-");
        assert_eq!(name.len(), 9);
        assert!(name.starts_with("web-"));
        assert_eq!(generate(&"a".repeat(100)).len(), 63);
        assert_eq!(generate(&"ä".repeat(40)).chars().count(), 29 + 5);
    }
}
