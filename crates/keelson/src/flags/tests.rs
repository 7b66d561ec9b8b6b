//! Command lines of installers, and command lines that are refused.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::{Face, Flags, Value, parse};

fn read(face: Face, command_line: &str) -> Flags {
    let arguments: Vec<String> = command_line.split_whitespace().map(str::to_owned).collect();
    parse(face, &arguments).expect("a good command line")
}

fn upstream(command_line: &str) -> Flags {
    read(Face::KubeApiserver, command_line)
}

#[track_caller]
fn check_refused(arguments: &[&str], expected: &str) {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    assert_eq!(parse(Face::KubeApiserver, &arguments).expect_err("must be refused").to_string(), expected);
}

#[test]
fn every_flag_has_a_readable_default_and_a_clause_of_help() {
    for face in [Face::Standalone, Face::KubeApiserver] {
        let flags = read(face, "");
        let mut names = BTreeSet::new();
        for (title, section) in face.sections() {
            assert!(title.is_empty() || section.is_sorted_by_key(|flag| flag.name), "{title} is not sorted");
            for flag in section {
                assert!(names.insert(flag.name), "--{} stands twice", flag.name);
                let _ = flags.value(flag.name);
                assert!(flag.hidden || !flag.help.is_empty(), "--{} has no help", flag.name);
                assert!(!flag.help.ends_with('.'), "the help of --{} is a clause", flag.name);
            }
        }
    }
}

#[test]
fn test_environments_start_it() {
    let flags = upstream(
        "--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=/tmp/x \
         --client-ca-file=/tmp/x/client-cert-auth-ca.crt --disable-admission-plugins=ServiceAccount \
         --etcd-servers=http://127.0.0.1:2379 --secure-port=40001 \
         --service-account-issuer=https://127.0.0.1:40001/ --service-account-key-file=/tmp/x/sa-signer.crt \
         --service-account-signing-key-file=/tmp/x/sa-signer.key --service-cluster-ip-range=10.0.0.0/24",
    );
    assert!(flags.is_on("allow-privileged"));
    assert_eq!(flags.int("secure-port"), 40001);
    assert_eq!(flags.list("service-account-issuer"), ["https://127.0.0.1:40001/"]);
    assert_eq!(flags.text("cert-dir"), "/tmp/x");
    assert_eq!(flags.arguments(), [""; 0]);
}

#[test]
fn values_may_be_separate_words_and_flags_may_be_repeated() {
    let flags = upstream(
        "--cert-dir D --secure-port 1234 --etcd-servers http://0.0.0.0:2379 --authorization-mode RBAC \
         --service-account-issuer https://localhost --service-account-signing-key-file K \
         --service-account-signing-key-file K2 --service-account-key-file K --service-account-issuer certpath \
         --disable-admission-plugins ServiceAccount --client-ca-file C --service-cluster-ip-range 10.0.0.0/24 \
         --allow-privileged",
    );
    assert_eq!(flags.list("service-account-issuer"), ["https://localhost", "certpath"]);
    assert_eq!(flags.text("service-account-signing-key-file"), "K2");
    assert!(flags.is_on("allow-privileged"));
}

#[test]
fn installers_start_it() {
    let flags = upstream(
        "--advertise-address=10.0.0.1 --allow-privileged=true --authorization-mode=Node,RBAC \
         --client-ca-file=/etc/kubernetes/pki/ca.crt --enable-admission-plugins=NodeRestriction \
         --enable-bootstrap-token-auth=true --etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt \
         --etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt \
         --etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key --etcd-servers=https://127.0.0.1:2379 \
         --kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt \
         --kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key \
         --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname \
         --proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt \
         --proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key \
         --requestheader-allowed-names=front-proxy-client \
         --requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt \
         --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
         --requestheader-username-headers=X-Remote-User --secure-port=6443 \
         --service-account-issuer=https://kubernetes.default.svc.cluster.local \
         --service-account-key-file=/etc/kubernetes/pki/sa.pub \
         --service-account-signing-key-file=/etc/kubernetes/pki/sa.key --service-cluster-ip-range=10.96.0.0/12 \
         --tls-cert-file=/etc/kubernetes/pki/apiserver.crt --tls-private-key-file=/etc/kubernetes/pki/apiserver.key \
         --runtime-config= --feature-gates=WatchList=true",
    );
    assert_eq!(flags.list("authorization-mode"), ["Node", "RBAC"]);
    assert_eq!(flags.list("kubelet-preferred-address-types"), ["InternalIP", "ExternalIP", "Hostname"]);
    assert_eq!(flags.pairs("runtime-config"), []);
    assert_eq!(flags.pairs("feature-gates"), [(String::new(), "WatchList=true".to_owned())]);
}

#[test]
fn distributions_start_it() {
    // k3s
    upstream(
        "--storage-backend=etcd3 --etcd-servers=unix://kine.sock --cert-dir=/x --anonymous-auth=false \
         --service-node-port-range=30000-32767 --bind-address=127.0.0.1 --secure-port=6444 \
         --api-audiences=https://kubernetes.default.svc.cluster.local,k3s --kubelet-certificate-authority=/x \
         --egress-selector-config-file=/x --enable-aggregator-routing=true --profiling=false \
         --encryption-provider-config=/x --encryption-provider-config-automatic-reload=true --v=2 --vmodule=a=3",
    );
    // k0s
    upstream(
        "--service-account-jwks-uri=https://x/openid/v1/jwks --tls-min-version=VersionTLS12 \
         --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384 --anonymous-auth=false \
         --endpoint-reconciler-type=none --shutdown-watch-termination-grace-period=5s --v=1",
    );
    // vcluster
    upstream("--bind-address=127.0.0.1 --endpoint-reconciler-type=none --profiling=false");
    // kwokctl
    let flags = upstream(
        "--etcd-prefix=/registry --endpoint-reconciler-type=none --admission-control= --max-requests-inflight=0 \
         --max-mutating-requests-inflight=0 --enable-priority-and-fairness=false --tracing-config-file=/x \
         --audit-policy-file=/x --audit-log-path=/x",
    );
    assert_eq!(flags.list("admission-control"), [""; 0]);
    assert_eq!(flags.notices().len(), 1);
    // local-up-cluster.sh
    let flags = upstream(
        "--kubelet-port=10250 --kubelet-read-only-port=10255 --service-account-lookup=true --storage-media-type= \
         --emulated-version= --external-hostname=localhost --cors-allowed-origins=/127.0.0.1(:[0-9]+)?$,/localhost$ \
         --admission-control-config-file= --audit-policy-file= --feature-gates= --advertise-address= -v=3",
    );
    assert_eq!(flags.int("v"), 3);
    assert_eq!(
        flags.notices(),
        [
            "Flag --kubelet-port has been deprecated, kubelet-port is deprecated and will be removed.",
            "Flag --kubelet-read-only-port has been deprecated, kubelet-read-only-port is deprecated and will be removed.",
        ]
    );
}

#[test]
fn spellings_of_a_flag_mean_the_same() {
    for spelling in ["--secure-port=7", "--secure-port 7", "--secure_port=7", "--secure_port 7"] {
        assert_eq!(upstream(spelling).int("secure-port"), 7, "{spelling}");
    }
    for spelling in ["-v3", "-v=3", "-v 3", "--v=3", "--v 3"] {
        assert_eq!(upstream(spelling).int("v"), 3, "{spelling}");
    }
    for (spelling, on) in [("--profiling", true), ("--profiling=false", false), ("--profiling=0", false)] {
        assert_eq!(upstream(spelling).is_on("profiling"), on, "{spelling}");
    }
    // A boolean does not take the next word.
    assert_eq!(upstream("--profiling false").arguments(), ["false"]);
}

#[test]
fn the_first_value_replaces_the_default_and_later_ones_add() {
    let flags = upstream("--oidc-signing-algs=ES256 --oidc-signing-algs=RS512,PS256");
    assert_eq!(flags.list("oidc-signing-algs"), ["ES256", "RS512", "PS256"]);
    assert_eq!(upstream("").list("oidc-signing-algs"), ["RS256"]);
    let flags = upstream("--tls-sni-cert-key=a,b --tls-sni-cert-key=c,d:*.e.com,e.com");
    assert_eq!(flags.cert_keys("tls-sni-cert-key").len(), 2);
    assert_eq!(flags.cert_keys("tls-sni-cert-key")[1].names, ["*.e.com", "e.com"]);
    assert_eq!(
        upstream("--service-node-port-range=1000+10").value("service-node-port-range"),
        &Value::PortRange(Some((1000, 1010)))
    );
}

#[test]
fn two_dashes_end_the_flags() {
    let flags = upstream("--profiling -- --secure-port=1 x");
    assert_eq!(flags.arguments(), ["--secure-port=1", "x"]);
    assert_eq!(flags.int("secure-port"), 6443);
}

#[test]
fn the_face_is_in_the_first_words() {
    let words = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
    let check = |text: &str, face: Face, rest: &str| {
        assert_eq!(Face::of(words(text)), (face, words(rest)), "{text}");
    };
    check("keelson --v=1", Face::Standalone, "--v=1");
    check("/bin/kube-apiserver --v=1", Face::KubeApiserver, "--v=1");
    check("keelson kube-apiserver --v=1", Face::KubeApiserver, "--v=1");
    check("keelson --v=1 kube-apiserver", Face::Standalone, "--v=1 kube-apiserver");
    check("", Face::Standalone, "");
}

#[test]
fn what_cannot_be_read_is_refused_in_upstreams_words() {
    check_refused(&["--foo"], "unknown flag: --foo");
    check_refused(&["--foo_bar=1"], "unknown flag: --foo_bar");
    check_refused(&["-x"], "unknown shorthand flag: 'x' in -x");
    check_refused(&["-hx"], "unknown shorthand flag: 'x' in -x");
    check_refused(&["-v"], "flag needs an argument: 'v' in -v");
    check_refused(&["--secure-port"], "flag needs an argument: --secure-port");
    check_refused(&["--=x"], "bad flag syntax: --=x");
    check_refused(&["---x"], "bad flag syntax: ---x");
    check_refused(
        &["--secure-port=x"],
        "invalid argument \"x\" for \"--secure-port\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
    );
    check_refused(
        &["--v=x"],
        "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseUint: parsing \"x\": invalid syntax",
    );
    check_refused(
        &["--bind-address=1.2.3"],
        "invalid argument \"1.2.3\" for \"--bind-address\" flag: failed to parse IP: \"1.2.3\"",
    );
    check_refused(
        &["--request-timeout=5"],
        "invalid argument \"5\" for \"--request-timeout\" flag: time: missing unit in duration \"5\"",
    );
}
