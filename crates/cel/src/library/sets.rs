//! Sets library: lists as sets.

use super::mismatch;
use crate::fail::{Failure, Outcome};
use crate::program::Site;
use crate::run::Run;
use crate::value::{List, Val, equal};

pub(super) fn compare<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(a), Val::List(b)] = args else { return mismatch(site, args) };
    match site.function.as_str() {
        "sets.contains" => contains_all(a, b),
        "sets.equivalent" => {
            contains_all(a, b).and_then(|all| if all { contains_all(b, a) } else { Ok(false) })
        }
        _ => intersects(a, b),
    }
    .map(Val::Bool)
}

fn contains_all(list: &List<'_>, part: &List<'_>) -> Result<bool, Failure> {
    for item in part.iter() {
        if !equal::contains(list, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    for item in a.iter() {
        // Errors count as "not there".
        if equal::contains(b, &item?) == Ok(true) {
            return Ok(true);
        }
    }
    Ok(false)
}
