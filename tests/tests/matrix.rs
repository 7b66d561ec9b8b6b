//! Authorization matrices: our authorizers and upstream's server, cell by cell. crates/authz/testdata/matrix.

use std::collections::BTreeMap;

use keelson_testkit::{Options, RunningServer};
use keelson_tests::matrix::{Asked, Matrix, Stage};
use keelson_tests::upstream::{Accounts, EVERYTHING, Upstream};

/// The smallest number of cells in all matrices, and for each authorizer.
const CELLS: usize = 5_000;
const CELLS_EACH: usize = 500;

#[tokio::test]
async fn our_authorizers_decide_as_upstream_does() {
    let (mut cells, mut differences) = (0, Vec::new());
    let mut by_mode: BTreeMap<String, usize> = BTreeMap::new();
    for matrix in Matrix::all().expect("the matrices can be read") {
        cells += matrix.cells();
        matrix.modes.split(',').for_each(|it| *by_mode.entry(it.to_owned()).or_default() += matrix.cells());
        let stage = Stage::new(&matrix).await.expect("a stage");
        let answers = matrix.decided_by_us(&stage).await.expect("it can be asked");
        differences.extend(matrix.differences(&answers));
    }
    println!("{cells} cells: {by_mode:?}");
    assert!(differences.is_empty(), "{} of {cells} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(cells >= CELLS, "{cells} cells");
    for mode in ["RBAC", "Node", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"] {
        let cells = by_mode.get(mode).copied().unwrap_or_default();
        assert!(cells >= CELLS_EACH, "{cells} cells for {mode}");
    }
}

/// The same over the wire. Not the roles of every cluster, which are the same as above, and many.
#[tokio::test]
async fn our_server_answers_as_upstream_does() {
    let mut differences = Vec::new();
    for matrix in Matrix::all().expect("the matrices can be read") {
        if matrix.name() == "bootstrap" {
            continue;
        }
        let stage = Stage::new(&matrix).await.expect("a stage");
        let own = Options::default().argument("--aggregate-cluster-roles=false");
        let own = EVERYTHING.into_iter().fold(own, Options::argument);
        let server = RunningServer::start(stage.flags().iter().cloned().fold(own, Options::argument)).await;
        let answers = matrix.answered_by(&server.client(), &stage, Asked::Once).await;
        differences.extend(matrix.differences(&answers.expect("the server answers")));
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Needs upstream's server; runs in the long tier. `cargo xtask parity access --record` records its answers,
/// `KEELSON_ACCESS=node` those of one file only.
#[tokio::test]
async fn upstream_decides_as_it_is_written() {
    let is_recording = std::env::var("KEELSON_ACCESS_RECORD").is_ok();
    let only = std::env::var("KEELSON_ACCESS").unwrap_or_default();
    let asked = if is_recording { Asked::Often } else { Asked::Once };
    let (mut cells, mut differences) = (0, Vec::new());
    for matrix in Matrix::all().expect("the matrices can be read") {
        if !matrix.name().starts_with(&only) {
            continue;
        }
        let test = "upstream_decides_as_it_is_written";
        let stage = Stage::new(&matrix).await.expect("a stage");
        let Some(upstream) = Upstream::with(test, Accounts::Free, stage.flags()).await else { return };
        let answers = matrix.answered_by(upstream.client(), &stage, asked).await.expect("upstream answers");
        cells += matrix.cells();
        if is_recording {
            matrix.record(answers).expect("it can be written");
        } else {
            differences.extend(matrix.differences_of_upstream(&answers));
        }
    }
    println!("{cells} cells compared, {} differ", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
