//! Lists: order, prefixes, pages, the past.

use super::{Subject, text_of};
use crate::{At, Expect, Key, Revision, StoreError, Write};

/// The order of a list is that of the bytes of its keys.
pub async fn keys_are_in_byte_order(subject: &Subject) {
    for key in ["/x/b", "/x/a", "/x/a/b", "/x/a-b", "/x/ä", "/x/B"] {
        subject.create(key, "").await;
    }
    assert_eq!(subject.text("/x/", At::Latest).await, "/x/B= /x/a= /x/a-b= /x/a/b= /x/b= /x/ä=");
}

/// A prefix is a prefix of the text and nothing else.
pub async fn a_prefix_is_exact(subject: &Subject) {
    for key in ["/pods/a", "/pods", "/pods/", "/podtemplates/a", "/pod", "/pods0"] {
        subject.create(key, "").await;
    }
    assert_eq!(subject.text("/pods/", At::Latest).await, "/pods/= /pods/a=");
    assert_eq!(subject.text("/pods", At::Latest).await, "/pods= /pods/= /pods/a= /pods0=");
    assert_eq!(subject.text("/nothing/", At::Latest).await, "");
}

/// Pages, put together, are the list; each says how much there is behind it.
pub async fn pages_cover_everything(subject: &Subject) {
    let mut latest = Revision::FIRST;
    for number in 0..10 {
        latest = subject.create(&format!("/x/{number}"), "").await;
    }
    subject.create("/y/0", "").await;
    let prefix = Key::from("/x/");
    for (limit, expected) in [(3, vec![3, 3, 3, 1]), (5, vec![5, 5]), (10, vec![10]), (11, vec![10])] {
        let (mut sizes, mut seen, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = subject.store.list(&prefix, after.as_ref(), limit, At::Latest).await.expect("a page");
            assert_eq!(page.revision, latest.next());
            sizes.push(page.entries.len());
            seen.extend(page.entries);
            let remaining = 10 - seen.len() as u64;
            assert!(page.remaining.is_none_or(|told| told == remaining));
            assert_eq!(page.more, remaining > 0);
            if !page.more {
                break;
            }
            after = seen.last().map(|entry| entry.key.clone());
        }
        assert_eq!(sizes, expected);
        assert_eq!(text_of(&seen), subject.text("/x/", At::Latest).await);
    }
    let counted = subject.store.list(&prefix, None, 0, At::Latest).await.expect("a page");
    assert!(counted.entries.is_empty() && counted.more);
    assert!(counted.remaining.is_none_or(|told| told == 10));
}

/// The key behind which a page begins need not be there, nor under the prefix.
pub async fn a_page_begins_behind_any_key(subject: &Subject) {
    for key in ["/x/b", "/x/d", "/x/f"] {
        subject.create(key, "").await;
    }
    let cases = [
        ("/x/a", "/x/b= /x/d= /x/f="),
        ("/x/b", "/x/d= /x/f="),
        ("/x/c", "/x/d= /x/f="),
        ("/x/f", ""),
        ("/x/z", ""),
        ("/y/", ""),
        ("/a/", "/x/b= /x/d= /x/f="),
    ];
    for (after, expected) in cases {
        let after = Key::from(after);
        let page = subject.store.list(&Key::from("/x/"), Some(&after), 10, At::Latest).await.expect("a page");
        assert_eq!(text_of(&page.entries), expected, "after {after}");
        assert!(!page.more);
    }
}

/// Every state since the last compaction can be listed.
pub async fn a_list_shows_the_past(subject: &Subject) {
    let a1 = subject.create("/x/a", "1").await;
    let b1 = subject.create("/x/b", "1").await;
    let a2 = subject.update("/x/a", a1, "2").await;
    let gone = subject.delete("/x/b", b1).await;
    let b2 = subject.create("/x/b", "2").await;
    let last = subject.delete("/x/a", a2).await;
    let cases = [
        (Revision::FIRST, ""),
        (a1, "/x/a=1"),
        (b1, "/x/a=1 /x/b=1"),
        (a2, "/x/a=2 /x/b=1"),
        (gone, "/x/a=2"),
        (b2, "/x/a=2 /x/b=2"),
        (last, "/x/b=2"),
    ];
    for (revision, expected) in cases {
        assert_eq!(subject.text("/x/", At::Exactly(revision)).await, expected, "at {revision}");
    }
    let page = subject.list("/x/", At::Exactly(a2)).await.expect("a page");
    assert_eq!(page.revision, a2);
    let a = &page.entries[0];
    assert_eq!((a.created, a.modified, a.version), (a1, a2, 2));
    let b = &page.entries[1];
    assert_eq!((b.created, b.modified, b.version), (b1, b1, 1));
}

/// Pages of one revision make one list, whatever is written between them.
pub async fn pages_of_the_past_agree(subject: &Subject) {
    let mut latest = Revision::FIRST;
    for number in 0..6 {
        latest = subject.create(&format!("/x/{number}"), "old").await;
    }
    let at = At::Exactly(latest);
    let expected = subject.text("/x/", at).await;
    let (mut seen, mut after) = (Vec::new(), None);
    for number in 0..6 {
        let prefix = Key::from("/x/");
        let page = subject.store.list(&prefix, after.as_ref(), 1, at).await.expect("a page");
        assert!(page.remaining.is_none_or(|told| told == 5 - number));
        after = page.entries.last().map(|entry| entry.key.clone());
        seen.extend(page.entries);

        let current = subject.get(&format!("/x/{}", 5 - number)).await.expect("it is there");
        match number % 2 {
            0 => subject.delete(current.key.as_str(), current.modified).await,
            _ => subject.update(current.key.as_str(), current.modified, "new").await,
        };
        subject.create(&format!("/x/{number}-between"), "new").await;
    }
    assert_eq!(text_of(&seen), expected);
}

/// A future revision cannot be listed.
pub async fn the_future_is_refused(subject: &Subject) {
    let latest = subject.create("/a", "1").await;
    let error = subject.list("/", At::Exactly(latest.next())).await.expect_err("the future");
    let StoreError::Future { asked, latest: told } = error else { panic!("{error:?} is not the future") };
    assert_eq!((asked, told), (latest.next(), latest));
}

/// A list of more than a few entries is whole.
pub async fn large_lists_are_complete(subject: &Subject) {
    const COUNT: usize = 400;
    let mut expected = Vec::new();
    for number in 0..COUNT {
        let key = format!("/x/{number:04}");
        expected.push(format!("{key}={number}"));
        let write = Write::put(format!("{number}"));
        let store = subject.store.clone();
        keelson_stdx::task::spawn("create", async move {
            store.commit(&Key::from(key), Expect::Absent, write).await.map(drop)
        });
    }
    let whole = Revision::new(COUNT as u64 + 1).expect("not zero");
    let mut watch = subject.watch("/x/", Revision::FIRST);
    while super::next_change(&mut watch).await.revision() < whole {}
    assert_eq!(subject.text("/x/", At::Latest).await, expected.join(" "));
    assert_eq!(subject.text("/x/", At::Exactly(whole)).await, expected.join(" "));
}
