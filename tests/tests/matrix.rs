//! Who may do what: by our rules and by upstream's server, cell by cell. crates/authz/testdata/matrix.

use std::sync::Arc;

use keelson_authz::rbac::Rbac;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_authz::{AlwaysAllow, AlwaysDeny, Authorizer, PrivilegedGroup, Union};
use keelson_codec::json;
use keelson_object::Object;
use keelson_testkit::{Options, RunningServer};
use keelson_tests::matrix::Matrix;
use keelson_tests::upstream::{Accounts, EVERYTHING, Upstream};

/// What the matrices must hold at the least.
const CELLS: usize = 5_000;

#[tokio::test]
async fn our_rules_decide_as_upstream_does() {
    let (mut cells, mut differences) = (0, Vec::new());
    for matrix in Matrix::all().expect("the matrices can be read") {
        cells += matrix.cells();
        let answers = matrix.decided_by(&*authorizer(&matrix)).await;
        differences.extend(matrix.differences(&answers));
    }
    assert!(differences.is_empty(), "{} of {cells} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(cells >= CELLS, "{cells} cells");
}

/// The same over the wire; one matrix, because the rules are the same as above.
#[tokio::test]
async fn our_server_answers_as_upstream_does() {
    let matrices = Matrix::all().expect("the matrices can be read");
    let matrix = matrices.iter().find(|it| it.name() == "rules").expect("rules.yaml");
    let own = Options::default().argument("--aggregate-cluster-roles=false");
    let server = RunningServer::start(EVERYTHING.into_iter().fold(own, Options::argument)).await;
    let answers = matrix.answered_by(&server.client()).await.expect("the server answers");
    let differences = matrix.differences(&answers);
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Needs upstream's server; runs in the long tier. `cargo xtask parity access --record` writes down what it says.
#[tokio::test]
async fn upstream_decides_as_it_is_written() {
    let is_recording = std::env::var("KEELSON_ACCESS_RECORD").is_ok();
    let (mut cells, mut differences) = (0, Vec::new());
    for matrix in Matrix::all().expect("the matrices can be read") {
        let test = "upstream_decides_as_it_is_written";
        let Some(upstream) =
            Upstream::with(test, Accounts::Free, &[format!("--authorization-mode={}", matrix.modes)]).await
        else {
            return;
        };
        let answers = matrix.answered_by(upstream.client()).await.expect("upstream answers");
        cells += matrix.cells();
        if is_recording {
            matrix.record(&answers).expect("it can be written");
        } else {
            differences.extend(matrix.differences(&answers));
        }
    }
    println!("{cells} cells compared, {} differ", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The modes of a matrix over its objects and the roles of every cluster.
fn authorizer(matrix: &Matrix) -> Arc<dyn Authorizer> {
    let rbac = Rbac::default();
    let policy = Policy::new(is_on);
    rbac.change(|tables| {
        policy.cluster_roles.iter().chain(&policy.roles).for_each(|it| tables.put_role(it));
        let bindings = policy.cluster_role_bindings.iter().chain(&policy.role_bindings);
        bindings.for_each(|it| tables.put_binding(it));
        for object in &matrix.objects {
            let bytes = serde_json::to_vec(object).expect("it was read from JSON");
            let document = json::read(&bytes).expect("it is JSON");
            let object = Object::from_value(document.value).expect("it is an object");
            if object.kind.ends_with("Binding") {
                tables.put_binding(&object);
            } else {
                tables.put_role(&object);
            }
        }
    });
    let rbac: Arc<dyn Authorizer> = Arc::new(rbac);
    let modes = matrix.modes.split(',').filter_map(|mode| match mode {
        "RBAC" => Some(rbac.clone()),
        "AlwaysAllow" => Some(Arc::new(AlwaysAllow) as Arc<dyn Authorizer>),
        "AlwaysDeny" => Some(Arc::new(AlwaysDeny)),
        _ => None,
    });
    let masters: Arc<dyn Authorizer> = Arc::new(PrivilegedGroup::masters());
    Arc::new(Union::new(std::iter::once(masters).chain(modes).collect()))
}

/// Features as the flags of [`EVERYTHING`] have them, on top of what is on by itself.
fn is_on(feature: &str) -> bool {
    let off = [
        "DRADeviceTaintRules",
        "DRAResourcePoolStatus",
        "DRAWorkloadResourceClaims",
        "StorageVersionAPI",
        "WorkloadWithJob",
    ];
    !off.contains(&feature)
}
