//! Tests of the worked example of the index, and of its recovery from the file.

use bytes::Bytes;
use keelson_store::{Key, Revision};

use super::{Change, Index, Live, Mark, Recovery};

fn revision(number: u64) -> Revision {
    Revision::new(number).expect("not zero")
}

/// `2:a 3:b 5:-b 6:a!900`: a put of a at 2, of b at 3, a deletion of b at 5, a put of a that ends at 900.
fn changes(text: &str) -> Vec<Change> {
    let mut index = Index::default();
    let mut changes = Vec::new();
    for word in text.split_whitespace() {
        let (number, what) = word.split_once(':').expect("revision:key");
        let modified = revision(number.parse().expect("a number"));
        let (key, expires) = what.split_once('!').map_or((what, None), |(key, at)| (key, Some(at)));
        let expires = expires.map(|at| at.parse().expect("a number"));
        let delete = key.starts_with('-');
        let key = Key::from(key.trim_start_matches('-'));
        let before = index.live(&key);
        let live = Live {
            modified,
            created: before.map_or(modified, |before| before.created),
            version: before.map_or(1, |before| before.version + 1),
            expires,
        };
        let change = Change {
            revision: modified,
            key,
            previous: before.map(|before| before.modified),
            put: (!delete).then(|| (live, Bytes::new())),
        };
        index.apply(&change);
        changes.push(change);
    }
    changes
}

fn index(text: &str) -> Index {
    let mut index = Index::default();
    for change in changes(text) {
        index.apply(&change);
    }
    index
}

/// `a=4 b=3`: the keys at a revision.
fn state(index: &Index, at: u64) -> String {
    let found = index.list(&Key::from(""), None, usize::MAX, revision(at));
    let words: Vec<String> = found.keys.iter().map(|(key, revision)| format!("{key}={revision}")).collect();
    words.join(" ")
}

/// `4:2 5:3 5:5`: what is garbage since when.
fn garbage(index: &Index) -> String {
    let words: Vec<String> =
        index.garbage.iter().map(|garbage| format!("{}:{}", garbage.since, garbage.revision)).collect();
    words.join(" ")
}

const EXAMPLE: &str = "2:a 3:b 4:a 5:-b 6:a";

#[test]
fn every_state_is_known() {
    let index = index(EXAMPLE);
    let states = ["", "a=2", "a=2 b=3", "a=4 b=3", "a=4", "a=6", "a=6"];
    for (at, expected) in (1..).zip(states) {
        assert_eq!(state(&index, at), expected, "at {at}");
    }
    assert_eq!(garbage(&index), "4:2 5:3 5:5 6:4");
}

#[test]
fn compaction_forgets_what_nobody_needs() {
    let mut index = index(EXAMPLE);
    let swept: Vec<u64> =
        index.sweep(revision(5), usize::MAX).iter().map(|garbage| garbage.revision.get()).collect();
    assert_eq!(swept, [2, 3, 5]);
    assert_eq!(garbage(&index), "6:4");
    assert_eq!((state(&index, 5), state(&index, 6)), ("a=4".to_owned(), "a=6".to_owned()));
    assert!(!index.keys.contains_key("b"));
}

#[test]
fn compaction_goes_step_by_step() {
    let mut index = index(EXAMPLE);
    let mut swept = Vec::new();
    loop {
        let step = index.sweep(revision(6), 1);
        let Some(garbage) = step.first() else { break };
        swept.push(garbage.revision.get());
        assert_eq!(state(&index, 6), "a=6");
    }
    assert_eq!(swept, [2, 3, 5, 4]);
}

#[test]
fn a_key_that_came_back_is_kept() {
    let mut index = index("2:a 3:-a 4:a");
    index.sweep(revision(3), usize::MAX);
    assert_eq!((state(&index, 3), state(&index, 4)), (String::new(), "a=4".to_owned()));
    assert!(index.keys["a"].older.is_empty());
}

#[test]
fn the_last_change_of_a_prefix_may_be_a_deletion() {
    let index = index("2:/a/x 3:/b/x 4:-/a/x");
    for (prefix, expected) in [("/a/", Some(4)), ("/b/", Some(3)), ("/", Some(4)), ("/c/", None)] {
        assert_eq!(index.last_change(&Key::from(prefix)).map(Revision::get), expected);
    }
}

#[test]
fn keys_end_in_order_and_only_once() {
    let mut index = index("2:a!900 3:b!100 4:c!500 5:b!700 6:-c 7:d");
    assert_eq!(index.next_expiry(), Some(700));
    assert_eq!(index.expired(600, 9), (vec![], false));
    assert_eq!(index.expired(900, 9), (vec![Key::from("b"), Key::from("a")], false));
    assert_eq!(index.expired(900, 1), (vec![Key::from("b")], true));
    let delete =
        Change { revision: revision(8), key: Key::from("b"), previous: Some(revision(5)), put: None };
    index.apply(&delete);
    assert_eq!(index.next_expiry(), Some(900));
}

/// Makes the index again from what is in the file when everything up to `swept` is swept.
fn recover(text: &str, swept: u64) -> Result<Index, Key> {
    let mut recovery = Recovery::default();
    let (all, index) = (changes(text), index(text));
    for (key, versions) in &index.keys {
        if let Some(live) = versions.live {
            recovery.live(key.clone(), live);
        }
    }
    for change in all.iter().filter(|change| change.revision.get() > swept) {
        let mark = Mark { revision: change.revision, alive: change.put.is_some() };
        recovery.record(change.key.as_str(), mark, change.previous);
    }
    recovery.finish(revision(swept))
}

#[test]
fn the_index_can_be_made_again() {
    let text = "2:a 3:b 4:a 5:-b 6:a!77 7:c 8:-c 9:c 10:b 11:-a 12:d!5";
    for swept in 1..=12 {
        let mut expected = index(text);
        expected.sweep(revision(swept), usize::MAX);
        let recovered = recover(text, swept).expect("the tables agree");
        assert_eq!(recovered.keys, expected.keys, "swept to {swept}");
        assert_eq!(recovered.garbage, expected.garbage, "swept to {swept}");
        assert_eq!(recovered.leases, expected.leases, "swept to {swept}");
    }
}

#[test]
fn tables_that_disagree_are_noticed() {
    let live =
        |modified| Live { modified: revision(modified), created: revision(2), version: 1, expires: None };
    let put = |number| Mark { revision: revision(number), alive: true };

    let mut unknown = Recovery::default();
    unknown.record("a", put(3), None);
    assert_eq!(unknown.finish(revision(1)).unwrap_err(), Key::from("a"));

    let mut older = Recovery::default();
    older.live(Key::from("a"), live(2));
    older.record("a", put(3), Some(revision(2)));
    assert_eq!(older.finish(revision(1)).unwrap_err(), Key::from("a"));

    let mut unwritten = Recovery::default();
    unwritten.live(Key::from("a"), live(3));
    assert_eq!(unwritten.finish(revision(2)).unwrap_err(), Key::from("a"));
}
