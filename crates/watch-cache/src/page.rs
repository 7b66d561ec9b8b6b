//! Lists in pages: a part of a snapshot behind a key.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_store::Key;

use crate::scope::Scope;
use crate::snapshot::Snapshot;

/// The request for a page.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'r> {
    /// The part of the resource.
    pub scope: &'r Scope,
    /// Behind which key; `None` is for the first page.
    pub after: Option<&'r Key>,
    /// The largest number of objects; `usize::MAX` for all.
    pub limit: usize,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The objects in the order of their keys.
    pub objects: Vec<Arc<Frozen>>,
    /// Behind which key the next page begins, if there are more objects.
    pub next: Option<Key>,
    /// The number of objects behind this page; not known when they are filtered.
    pub remaining: Option<usize>,
    /// The number of objects that were examined.
    pub fetched: usize,
}

impl Snapshot {
    /// The objects of a part of the resource, page by page.
    pub fn page(&self, request: &PageRequest<'_>) -> Page {
        let mut found = self.scoped(request.scope, request.after);
        let (objects, last) = take(&mut found, request.limit, |_| true);
        let fetched = objects.len();
        let remaining = match (request.scope, request.after) {
            (Scope::All, None) => self.len() - objects.len(),
            _ => found.count(),
        };
        Page { objects, next: last.filter(|_| remaining > 0), remaining: Some(remaining), fetched }
    }

    /// Those objects of a part of the resource that match, page by page. The last page may be empty.
    pub fn page_where(&self, request: &PageRequest<'_>, matches: impl Fn(&Frozen) -> bool) -> Page {
        let mut found = self.scoped(request.scope, request.after);
        let mut fetched = 0;
        let (objects, last) = take(&mut found.by_ref().inspect(|_| fetched += 1), request.limit, matches);
        let next = last.filter(|_| found.next().is_some());
        Page { objects, next, remaining: None, fetched }
    }
}

/// Takes up to `limit` objects that match, and the key of the last one taken.
fn take<'s>(
    found: &mut impl Iterator<Item = (&'s Key, &'s Arc<Frozen>)>,
    limit: usize,
    matches: impl Fn(&Frozen) -> bool,
) -> (Vec<Arc<Frozen>>, Option<Key>) {
    let mut objects = Vec::new();
    let mut last = None;
    while objects.len() < limit
        && let Some((key, object)) = found.next()
    {
        if matches(object) {
            objects.push(object.clone());
            last = Some(key);
        }
    }
    (objects, last.cloned())
}

#[cfg(test)]
mod tests {
    use keelson_store::{Key, Revision};

    use super::PageRequest;
    use crate::scope::Scope;
    use crate::snapshot::Snapshot;
    use crate::tests::object;

    /// Ten objects, two in each of five namespaces; the even ones are on node `n0`, the odd ones on `n1`.
    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::empty(Key::from("/pods/"), &[0], Revision::FIRST);
        for number in 0..10 {
            let (namespace, name) = (format!("ns{}", number / 2), format!("pod{number}"));
            let object = object(&namespace, &name, &format!("n{}", number % 2), 5);
            snapshot.set(&Key::from(format!("/pods/{namespace}/{name}")), Some(&object));
        }
        snapshot
    }

    /// The sizes of the pages and what remains behind each.
    #[track_caller]
    fn check(scope: &Scope, limit: usize, expected: &[(usize, usize)]) {
        let snapshot = snapshot();
        let (mut pages, mut names, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = snapshot.page(&PageRequest { scope, after: after.as_ref(), limit });
            pages.push((page.objects.len(), page.remaining.expect("nothing is filtered")));
            names.extend(page.objects.iter().map(|object| object.index().name.clone()));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(pages, expected);
        let all: Vec<_> =
            snapshot.scoped(scope, None).map(|(_, object)| object.index().name.clone()).collect();
        assert_eq!(names, all);
    }

    #[test]
    fn pages_cover_everything_once() {
        check(&Scope::All, 4, &[(4, 6), (4, 2), (2, 0)]);
        check(&Scope::All, 5, &[(5, 5), (5, 0)]);
        check(&Scope::All, usize::MAX, &[(10, 0)]);
        check(&Scope::Namespace("ns1".into()), 1, &[(1, 1), (1, 0)]);
        check(&Scope::Field { index: 0, value: "n1".into() }, 2, &[(2, 3), (2, 1), (1, 0)]);
        check(&Scope::Namespace("none".into()), 4, &[(0, 0)]);
    }

    #[test]
    fn a_filtered_page_is_full_as_long_as_something_matches() {
        let (snapshot, scope) = (snapshot(), Scope::All);
        let odd = |object: &keelson_object::Frozen| object.index().fields[0] == "n1";
        let first = snapshot.page_where(&PageRequest { scope: &scope, after: None, limit: 3 }, odd);
        assert_eq!(first.objects.len(), 3);
        assert_eq!((first.remaining, first.fetched), (None, 6));
        let request = PageRequest { scope: &scope, after: first.next.as_ref(), limit: 3 };
        let second = snapshot.page_where(&request, odd);
        assert_eq!((second.objects.len(), second.next), (2, None));
    }
}
