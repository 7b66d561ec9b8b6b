//! Wrong values of flags: every flag of kube-apiserver v1.36.4 with at least three of them.
//!
//! `testdata/wrong-values.tsv` has one line for each command line: the arguments, and the exit code and
//! message of the real kube-apiserver. The code `-` means that it starts. `cargo xtask parity flags --record`
//! records the last two columns again. `testdata/wrong-values-differences.tsv` lists the cases in which
//! Keelson differs, and why.

#[path = "wrong_values/cases.rs"]
mod cases;
#[path = "wrong_values/fixture.rs"]
mod fixture;
#[path = "wrong_values/keelson.rs"]
mod keelson_run;
#[path = "wrong_values/upstream.rs"]
mod upstream;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use keelson::flags::Face;

use cases::{Case, Outcome};
use fixture::Fixture;

/// Runs all cases on a few threads and returns the outcomes in order.
fn ask_all(cases: &[Case], threads: usize, ask: impl Fn(&Case) -> Outcome + Sync) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, case)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(index).map(|case| (index, case))
                } {
                    let outcome = ask(case);
                    found.lock().expect("no thread has panicked").insert(index, outcome);
                }
            });
        }
    });
    found.into_inner().expect("no thread has panicked").into_values().collect()
}

#[test]
fn every_flag_has_three_wrong_values() {
    let cases = cases::recorded();
    let flags = Face::KubeApiserver.sections().filter(|(title, _)| !title.is_empty()).flat_map(|(_, it)| it);
    for flag in flags {
        let prefix = format!("--{}=", flag.name);
        let count = cases.iter().filter(|case| case.arguments.starts_with(&prefix)).count();
        assert!(count >= 3, "--{} has {count} cases", flag.name);
    }
}

#[test]
fn keelson_refuses_what_upstream_refuses_in_the_same_words() {
    let fixture = Fixture::new();
    let cases = cases::recorded();
    let ours = ask_all(&cases, 4, |case| keelson_run::ask(case, &fixture));
    let mut problems = Vec::new();
    let mut differences = cases::differences();
    for (case, found) in cases.iter().zip(&ours) {
        let expected = match differences.remove(&case.arguments) {
            Some(ours) if ours.same_as(&case.outcome) => {
                problems.push(format!("{}\n  is no difference any more", case.arguments));
                continue;
            }
            Some(ours) => ours,
            None => case.outcome.clone(),
        };
        if !found.same_as(&expected) {
            problems.push(format!("{}\n  expected {expected}\n  found    {found}", case.arguments));
        }
    }
    problems.extend(
        differences.into_keys().map(|it| format!("{it}\n  is listed as a difference but is no case")),
    );
    let count = problems.len();
    assert!(problems.is_empty(), "{count} of {} cases:\n{}", cases.len(), problems.join("\n"));
}

/// Records the results of the real kube-apiserver, if `KEELSON_FLAGS_RECORD` is set.
#[test]
fn upstream_is_recorded() {
    if std::env::var_os("KEELSON_FLAGS_RECORD").is_none() {
        return;
    }
    let fixture = Fixture::new();
    let upstream = upstream::Upstream::new(&fixture);
    let cases = cases::recorded();
    let outcomes = ask_all(&cases, 3, |case| upstream.ask(case));
    cases::record(&cases, &outcomes);
}
