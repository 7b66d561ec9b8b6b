//! Changed expressions: words of known expressions are removed, inserted, swapped and doubled; whole expressions are
//! combined.

use crate::random::Random;

const PIECES: &str = "self self.list self.strings self.objs self.map self.str self.val self.ios x y d l ls m md o os t dur \
by db u b an n q addr net null true 1 1u 1.5 'a' b'a' [] {} [1] {'a':1} ( ) [ ] { } . , : ? ! - + * / % == != < <= > >= \
in && || .? [? .size() .all(i,i==i) .exists(i,i==1) .map(i,i) .filter(i,true) .optMap(i,i) .orValue(1) size( has( string( \
int( dyn( type( timestamp( duration( optional.of( sets.contains( .matches('a') .startsWith('a') .split(',') .join(',') \
.replace('a','b') .format([1]) .sortBy(i,i) .sort() .distinct() .flatten() .slice(0,1) .reverse() .first() lists.range(3) \
quantity('1') ip('::1') @ # ' \" namespace for `a` = & | é .true i cel.bind(v,x,v) .transformMap(k,v,v) .all(k,v,true) \
oldSelf oldSelf.list oldSelf.str";

/// A seed with one to four changes.
pub(crate) fn changed(text: &str, seeds: &[String], random: &mut Random) -> String {
    let words: Vec<&str> = PIECES.split(' ').chain([" ", "\n"]).collect();
    let mut pieces = split(text);
    for _ in 0..=random.below(4) {
        let at = random.below(pieces.len() + 1);
        match random.below(6) {
            0 if at < pieces.len() => {
                pieces.remove(at);
            }
            1 => pieces.insert(at, (*random.pick(&words)).to_owned()),
            2 if at < pieces.len() => pieces[at] = (*random.pick(&words)).to_owned(),
            3 if at < pieces.len() => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
            4 => {
                let other = split(random.pick(seeds).as_str());
                let from = random.below(other.len());
                let to = (from + 1 + random.below(6)).min(other.len());
                pieces.splice(at..at, other[from.min(to)..to].iter().cloned());
            }
            _ if at < pieces.len() => {
                let piece = pieces[at].clone();
                pieces.insert(at, piece);
            }
            _ => {}
        }
        if pieces.is_empty() {
            pieces.push(String::from("x"));
        }
    }
    pieces.concat()
}

/// Words, and every other character by itself.
fn split(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut in_word = false;
    for character in text.chars() {
        let word = character.is_ascii_alphanumeric() || character == '_';
        match pieces.last_mut() {
            Some(last) if word && in_word => last.push(character),
            _ => pieces.push(character.to_string()),
        }
        in_word = word;
    }
    pieces
}

/// Operators and macros around three expressions of any type.
pub(crate) fn combined([a, b, c]: [&str; 3], random: &mut Random) -> String {
    match random.below(17) {
        0 => format!("({a}) == ({b})"),
        1 => format!("dyn({a}) == dyn({b})"),
        2 => format!("dyn({a}) < dyn({b})"),
        3 => format!("(dyn({a}) || dyn({b})) && dyn({c})"),
        4 => format!("dyn({a}) ? dyn({b}) : dyn({c})"),
        5 => format!("[dyn({a}), dyn({b})].map(zz, zz == dyn({c}))"),
        6 => format!("[1, 2].exists(zz, dyn({a}) == zz || dyn({b}))"),
        7 => format!("'%s %s'.format([{a}, {b}])"),
        8 => format!("dyn({a}) in dyn({b})"),
        9 => format!("dyn({a})[dyn({b})]"),
        10 => format!("dyn({a}) + dyn({b})"),
        11 => format!("[{a}].all(zz, yy, dyn({b}) != yy)"),
        12 => format!("optional.of({a}).orValue({b})"),
        13 => format!("has({{'k': {a}}}.k) && type({b}) == type({c})"),
        14 => format!("{{'k': dyn({a}), 'l': dyn({b})}}.transformList(kk, vv, vv == dyn({c}))"),
        15 => format!("[dyn({a}), dyn({b}), dyn({c})].distinct()"),
        _ => format!("cel.bind(zz, dyn({a}), zz == zz && dyn({b}) != zz)"),
    }
}
