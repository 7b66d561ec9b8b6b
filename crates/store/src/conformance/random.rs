//! Random histories: a store always answers like the reference model.

use keelson_stdx::clock::Clock;

use super::{Subject, text_of_event, until_progress};
use crate::{At, Expect, Key, MemoryStore, Revision, Write};

/// Numbers that look random and are the same each time (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Something that can be done to a store.
#[derive(Debug)]
enum Step {
    Commit(Key, Expect, Write),
    Get(Key),
    List(Key, Option<Key>, usize, At),
    Compact(Revision),
    Watch(Key, Revision),
}

/// Hundreds of steps, most of them sensible, each answered as the model answers it.
pub async fn a_random_history_is_that_of_the_model(subject: &Subject) {
    let model = Subject::new(MemoryStore::new(Clock::manual().0), subject.hand.clone());
    let mut random = Random::new(2026);
    for number in 0..600 {
        let step = random_step(&mut random, &model, number).await;
        let (expected, answer) = (answer(&model, &step).await, answer(subject, &step).await);
        assert_eq!(answer, expected, "step {number} is {step:?}");
    }
    for prefix in ["/", "/a/", "/b", "/c/"] {
        let step = Step::Watch(Key::from(prefix), model.latest().await);
        assert_eq!(answer(subject, &step).await, answer(&model, &step).await);
        assert_eq!(subject.text(prefix, At::Latest).await, model.text(prefix, At::Latest).await);
    }
}

async fn random_step(random: &mut Random, model: &Subject, number: u64) -> Step {
    let latest = model.latest().await;
    let key = |random: &mut Random| {
        let folder = ["/a/", "/b/", "/b", "/c/"][usize::try_from(random.below(4)).expect("small")];
        Key::from(format!("{folder}{}", random.below(5)))
    };
    let prefix = |random: &mut Random| {
        Key::from(["/", "/a/", "/b", "/b/", "/c/1"][usize::try_from(random.below(5)).expect("small")])
    };
    // Mostly a past revision, sometimes a future one.
    let revision = |random: &mut Random| Revision::new(1 + random.below(latest.get() + 2)).expect("not zero");
    match random.below(20) {
        0..12 => {
            let key = key(random);
            let current = model.store.get(&key).await.expect("the model works");
            let expect = match (random.below(8), current) {
                (0, _) => Expect::Absent,
                (1, _) => Expect::Unchanged(revision(random)),
                (_, None) => Expect::Absent,
                (_, Some(current)) => Expect::Unchanged(current.modified),
            };
            let write = match random.below(4) {
                0 => Write::Delete,
                _ => Write::put(format!("{number}")),
            };
            Step::Commit(key, expect, write)
        }
        12..14 => Step::Get(key(random)),
        14..18 => {
            let at = match random.below(3) {
                0 => At::Latest,
                _ => At::Exactly(revision(random)),
            };
            let after = (random.below(2) == 0).then(|| key(random));
            let limit = [0, 1, 3, usize::MAX][usize::try_from(random.below(4)).expect("small")];
            Step::List(prefix(random), after, limit, at)
        }
        18 if random.below(6) == 0 => Step::Compact(revision(random)),
        _ => Step::Watch(prefix(random), revision(random)),
    }
}

/// The answer of a store to a step, as text.
async fn answer(subject: &Subject, step: &Step) -> String {
    let store = &subject.store;
    match step {
        Step::Commit(key, expect, write) => format!("{:?}", store.commit(key, *expect, write.clone()).await),
        Step::Get(key) => format!("{:?}", store.get(key).await),
        Step::List(prefix, after, limit, at) => {
            let mut page = store.list(prefix, after.as_ref(), *limit, *at).await;
            if let Ok(page) = &mut page {
                page.remaining = None;
            }
            format!("{page:?}")
        }
        Step::Compact(before) => format!("{:?}", store.compact(*before).await),
        Step::Watch(prefix, after) => {
            let mut watch = store.watch(prefix, *after);
            match super::next(&mut watch).await.expect("a watch begins with something") {
                Err(error) => format!("{error:?}"),
                Ok(first) => {
                    let mut words = vec![format!("{first:?}")];
                    if first.key().is_some() {
                        words.extend(until_progress(&mut watch).await.iter().map(text_of_event));
                    }
                    words.join("\n")
                }
            }
        }
    }
}
