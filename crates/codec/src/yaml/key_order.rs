//! Order of keys in go-yaml: letters by their code point, runs of digits by their value.
//!
//! `a2` comes before `a10`, and `a-b` before `ab`.

use std::cmp::Ordering;

/// Sorts by key. Upstream's rule is not a total order for odd keys, for which the sorts of the standard
/// library may panic; a merge sort does not.
pub(super) fn sort<T>(pairs: &mut Vec<T>, key: &impl Fn(&T) -> &str) {
    if pairs.len() < 2 {
        return;
    }
    let mut right = pairs.split_off(pairs.len() / 2);
    sort(pairs, key);
    sort(&mut right, key);
    if compare(key(&pairs[pairs.len() - 1]), key(&right[0])) != Ordering::Greater {
        pairs.append(&mut right);
        return;
    }
    let left = std::mem::take(pairs);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let is_right = compare(key(a), key(b)) == Ordering::Greater;
        pairs.extend(if is_right { right.next() } else { left.next() });
    }
    pairs.extend(left);
    pairs.extend(right);
}

/// Upstream: go.yaml.in/yaml/v2, keyList.Less.
fn compare(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=common).rev().find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at)).unwrap_or(0);
    let (Some(left), Some(right)) = (a[start..].chars().next(), b[start..].chars().next()) else {
        return a.len().cmp(&b.len());
    };
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => left.cmp(&right),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let walked = if left == '0' || right == '0' { leading_number(&a[..start]) } else { 0 };
            let (left_value, left_length) = run(&a[start..], walked);
            let (right_value, right_length) = run(&b[start..], walked);
            left_value.cmp(&right_value).then(left_length.cmp(&right_length)).then(left.cmp(&right))
        }
    }
}

/// 1 if `before` ends with a number that is not zero, so that zeros after it count.
fn leading_number(before: &str) -> i64 {
    let digits = before.bytes().rev().take_while(u8::is_ascii_digit);
    i64::from(digits.into_iter().any(|it| it != b'0'))
}

/// The value and the length of the digits at the start of `text`, which continue a number of value `so_far`.
fn run(text: &str, so_far: i64) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((so_far, 0), |(value, length), it| {
        (value.wrapping_mul(10).wrapping_add(i64::from(it - b'0')), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn keys_are_written_in_natural_order() {
        let check = |keys: &[&str]| {
            let mut shuffled: Vec<&str> = keys.to_vec();
            shuffled.reverse();
            sort(&mut shuffled, &|it| it);
            assert_eq!(shuffled, keys);
        };
        check(&[]);
        check(&["a"]);
        check(&["apiVersion", "kind", "metadata", "spec"]);
        check(&["a", "a1", "a2", "a10", "ab"]);
        check(&["a-b", "a.b", "aB", "ab"]);
        check(&["1", "2", "10", "A", "a"]);
        check(&["x1", "x1a", "x01", "x2"]);
    }
}
