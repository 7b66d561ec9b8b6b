//! Validation: our errors and upstream's, compared with crates/apis/testdata/validation.

use std::path::Path;

use keelson_testkit::{Client, Kubeconfig, Options, Protocol, RunningServer};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use keelson_tests::validation::File;

/// The outcome of every case is that of the files.
#[tokio::test]
async fn every_case_is_judged_as_it_is_written() {
    match named() {
        Some(client) => run(&client).await,
        None => {
            let own =
                Options::default().argument("--empty-namespaces=false").argument("--count-quota-usage=false");
            let server = RunningServer::start(EVERYTHING.into_iter().fold(own, Options::argument)).await;
            run(&server.client()).await;
        }
    }
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn upstream_judges_every_case_as_it_is_written() {
    if named().is_some() {
        return;
    }
    let Some(upstream) = Upstream::for_test("upstream_judges_every_case_as_it_is_written").await else {
        return;
    };
    run(upstream.client()).await;
}

/// The server that was given to `cargo xtask parity validation`.
fn named() -> Option<Client> {
    let file = std::env::var("KEELSON_VALIDATION_KUBECONFIG").ok()?;
    let kubeconfig = Kubeconfig::load(Path::new(&file)).expect("a kubeconfig");
    let url = std::env::var("KEELSON_VALIDATION_SERVER").unwrap_or(kubeconfig.server);
    Some(Client::new(&url, &kubeconfig.credentials, Protocol::Http1).expect("a client"))
}

async fn run(client: &Client) {
    let filter = std::env::var("KEELSON_VALIDATION_FILTER").unwrap_or_default();
    let is_recording = std::env::var("KEELSON_VALIDATION_RECORD").is_ok();
    let mut differences = Vec::new();
    let mut count = 0;
    for file in File::all(&filter).expect("the cases can be read") {
        let outcomes = match file.ask(client).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                differences.push(format!("{error:#}"));
                continue;
            }
        };
        count += outcomes.len();
        if is_recording {
            file.record(&outcomes).expect("it can be written");
            continue;
        }
        for (case, seen) in file.cases.iter().zip(outcomes).filter(|(case, seen)| !case.expected.admits(seen))
        {
            let (name, expected) = (&file.name, &case.expected);
            differences.push(format!("{name}: {}\n  expected {expected:?}\n  seen     {seen:?}", case.name));
        }
    }
    println!("{count} cases of validation");
    assert!(count > 0, "no case begins with {filter:?}");
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
