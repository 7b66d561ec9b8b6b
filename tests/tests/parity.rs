//! The same dialogues with us and with the real kube-apiserver.

use std::path::Path;

use keelson_testkit::{Client, Kubeconfig, Options, Protocol, RunningServer};
use keelson_tests::scenario::{Scenario, Seen};
use keelson_tests::upstream::{Accounts, EVERYTHING, Upstream};

/// The scenarios in this folder want that pods need accounts, and make them.
const WITH_ACCOUNTS: &str = "admission-service-account/";

/// Upstream has no controller manager beside it, so our server does not empty namespaces, aggregate roles or
/// count quotas either. Both serve everything.
fn alone(accounts: Accounts) -> Options {
    let own = Options::default()
        .argument("--empty-namespaces=false")
        .argument("--aggregate-cluster-roles=false")
        .argument("--count-quota-usage=false");
    let own = match accounts {
        Accounts::Free => own,
        Accounts::Needed => own.with_service_accounts().argument("--default-service-accounts=false"),
    };
    EVERYTHING.into_iter().fold(own, Options::argument)
}

/// All scenarios for such servers, or those whose names begin with `KEELSON_SCENARIO`.
fn scenarios(accounts: Accounts) -> Vec<Scenario> {
    let wanted = std::env::var("KEELSON_SCENARIO").unwrap_or_default();
    let needs = |it: &Scenario| it.name.starts_with(WITH_ACCOUNTS);
    let all = Scenario::all().expect("the scenarios can be read").into_iter();
    all.filter(|it| it.name.starts_with(&wanted) && needs(it) == (accounts == Accounts::Needed)).collect()
}

/// Checks our responses against the statuses in the files.
#[tokio::test]
async fn every_scenario_gives_the_status_it_says() {
    for accounts in [Accounts::Free, Accounts::Needed] {
        let named = named();
        let own = if named.is_none() { Some(RunningServer::start(alone(accounts)).await) } else { None };
        let client = named.or(own.as_ref().map(RunningServer::client)).expect("one of the two");
        let mut wrong = Vec::new();
        for scenario in scenarios(accounts) {
            let seen = scenario.run(&client).await.expect("the server answers");
            for (step, seen) in scenario.steps.iter().zip(seen) {
                let expected = if own.is_some() { step.ours.unwrap_or(step.status) } else { step.status };
                if seen.status != expected {
                    let (name, ask) = (&scenario.name, &step.ask);
                    wrong.push(format!("{name}: {ask}: {} and not {expected}: {}", seen.status, seen.body));
                }
            }
        }
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// The server that was given to `cargo xtask parity scenarios`.
fn named() -> Option<Client> {
    let file = std::env::var("KEELSON_SCENARIO_KUBECONFIG").ok()?;
    let kubeconfig = Kubeconfig::load(Path::new(&file)).expect("a kubeconfig");
    let url = std::env::var("KEELSON_SCENARIO_SERVER").unwrap_or(kubeconfig.server);
    Some(Client::new(&url, &kubeconfig.credentials, Protocol::Http1).expect("a client"))
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn every_scenario_is_answered_as_upstream_does() {
    Box::pin(compare_all("every_scenario_is_answered_as_upstream_does", Accounts::Free)).await;
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn every_scenario_with_accounts_is_answered_as_upstream_does() {
    let test = "every_scenario_with_accounts_is_answered_as_upstream_does";
    Box::pin(compare_all(test, Accounts::Needed)).await;
}

async fn compare_all(test: &str, accounts: Accounts) {
    if named().is_some() {
        return;
    }
    let Some(upstream) = Upstream::with(test, accounts, &[]).await else { return };
    let server = RunningServer::start(alone(accounts)).await;
    let (mut compared, mut differences) = (0, Vec::new());
    for scenario in scenarios(accounts) {
        compared += scenario.steps.len();
        differences.extend(Box::pin(compare(&scenario, upstream.client(), &server.client())).await);
    }
    println!("{compared} answers compared, {} differ", differences.len());
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// The differences when both servers get the same requests at the same time.
async fn compare(scenario: &Scenario, upstream: &Client, ours: &Client) -> Vec<String> {
    let (theirs, ours) = tokio::join!(scenario.run(upstream), scenario.run(ours));
    let (theirs, ours) = (theirs.expect("upstream answers"), ours.expect("we answer"));
    let mut differences = Vec::new();
    for (step, (theirs, ours)) in scenario.steps.iter().zip(theirs.iter().zip(&ours)) {
        if theirs.status != step.status {
            differences.push(format!("{}: {}: upstream says {}", scenario.name, step.ask, theirs.status));
        }
        if step.ours.is_none() && theirs != ours {
            differences.push(difference(&format!("{}: {}", scenario.name, step.ask), theirs, ours));
        }
    }
    differences
}

fn difference(at: &str, theirs: &Seen, ours: &Seen) -> String {
    let line = |seen: &Seen| format!("{} {} {:?} {}", seen.status, seen.media_type, seen.warnings, seen.body);
    format!("{at}\n  upstream {}\n  ours     {}", line(theirs), line(ours))
}
