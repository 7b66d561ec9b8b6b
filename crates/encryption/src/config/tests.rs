//! Tests of configurations, with upstream's messages about invalid ones.

use keelson_object::{Map, Value};

use super::{Configuration, Problem, Reload};

const KEY: &str = "a2VlbHNvbi10ZXN0LWtleS1vZi0zMi1ieXRlcy1hYmM=";

/// `{a: [b, {}]}`: just enough of YAML's flow style to write configurations in.
pub(crate) fn value(text: &str) -> Value {
    let mut rest = text.trim();
    let value = parse(&mut rest);
    assert!(rest.trim().is_empty(), "{rest:?} is left of {text:?}");
    value
}

fn parse(rest: &mut &str) -> Value {
    *rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('{') {
        *rest = inner;
        let mut map = Map::default();
        while !close(rest, '}') {
            let key = word(rest, ':');
            *rest = rest.trim_start().strip_prefix(':').expect("a colon");
            map.set(key, parse(rest));
        }
        return Value::Map(map);
    }
    if let Some(inner) = rest.strip_prefix('[') {
        *rest = inner;
        let mut items = Vec::new();
        while !close(rest, ']') {
            items.push(parse(rest));
        }
        return Value::List(items);
    }
    let word = word(rest, ',');
    match word.parse::<i64>() {
        Ok(number) => Value::Int(number),
        Err(_) => Value::String(word.trim_matches('"').into()),
    }
}

fn close(rest: &mut &str, end: char) -> bool {
    *rest = rest.trim_start().trim_start_matches(',').trim_start();
    match rest.strip_prefix(end) {
        Some(left) => {
            *rest = left;
            true
        }
        None => false,
    }
}

fn word(rest: &mut &str, end: char) -> String {
    *rest = rest.trim_start();
    let length = rest.find(|c| c == end || "}],".contains(c)).unwrap_or(rest.len());
    let (word, left) = rest.split_at(length);
    *rest = left;
    word.trim().to_owned()
}

fn document(resources: &str) -> Value {
    value(&format!(
        "{{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: {resources}}}"
    ))
}

#[track_caller]
fn check(resources: &str, expected: &str) {
    let problem =
        Configuration::read(&document(resources)).err().map(|it| it.to_string()).unwrap_or_default();
    assert_eq!(problem, expected);
}

fn of(names: &str) -> String {
    format!("[{{resources: {names}, providers: [{{identity: {{}}}}]}}]")
}

fn with(provider: &str) -> String {
    format!("[{{resources: [secrets], providers: [{provider}]}}]")
}

#[test]
fn a_good_configuration_is_read() {
    for provider in ["aesgcm", "aescbc", "secretbox"] {
        check(&with(&format!("{{{provider}: {{keys: [{{name: a, secret: {KEY}}}]}}}}")), "");
    }
    check(&of("[secrets, configmaps, deployments.apps]"), "");
    check(&of("[*.*]"), "");
    check(&of("[*.apps, *.]"), "");
    check(&with("{kms: {apiVersion: v2, name: a, endpoint: \"unix:///a\", timeout: 1s}}"), "");
}

#[test]
fn something_must_be_there() {
    check("[]", "resources: Required value: at least one resources is required");
    check(
        "[{}]",
        "[resources[0].resources: Required value: at least one resources[0].resources is required, \
         resources[0].providers: Required value: at least one resources[0].providers is required]",
    );
    check(
        &with("{aescbc: {}}"),
        "resources[0].providers[0].aescbc.keys: Required value: at least one keys is required",
    );
}

#[test]
fn unknown_fields_are_refused() {
    check(
        "[{resources: [secrets], provider: []}]",
        "strict decoding error: unknown field \"resources[0].provider\"",
    );
    check(
        &with("{aescbc: {keys: [{name: a, secret: b, id: c}]}}"),
        "strict decoding error: unknown field \"resources[0].providers[0].aescbc.keys[0].id\"",
    );
    let problem = Configuration::read(&value("{kind: Pod, apiVersion: v1}")).expect_err("refused");
    assert_eq!(
        problem.to_string(),
        "no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""
    );
    assert!(matches!(problem, Problem::Form(_)));
}

#[test]
fn names_of_resources_follow_rules() {
    let one = |name: &str, problem: &str| {
        check(
            &of(&format!("[{name}]")),
            &format!("resources[0].resources[0]: Invalid value: \"{name}\": {problem}"),
        );
    };
    one("Secrets", "resource name should not contain capital letters");
    one("*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources");
    one("apiserveripinfo", "resources which do not have REST API/s cannot be encrypted");
    one("deployments.extensions", "'extensions' group has been removed and cannot be used for encryption");
    one("secrets.*", "encrypting the same resource across groups is not supported");
    one(
        "events.events.k8s.io",
        "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the \
         config file",
    );
}

#[test]
fn resources_do_not_overlap() {
    let overlap = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as \
                   they will be masked";
    let twice = "the same resource cannot be specified multiple times";
    let at = |names: &str| format!("resources[0].resources: Invalid value: {names}: ");
    check(&of("[secrets, *.]"), &format!("{}{overlap}", at("[\"secrets\",\"*.\"]")));
    check(&of("[*.*, pods.x]"), &format!("{}{overlap}", at("[\"*.*\",\"pods.x\"]")));
    check(&of("[secrets, secrets]"), &format!("{}{twice}", at("[\"secrets\",\"secrets\"]")));
    check(&of("[secrets, pods, *.apps]"), "");
}

#[test]
fn a_provider_is_one_provider() {
    check(
        &with("{}"),
        "resources[0].providers[0]: Invalid value: \
         {\"AESGCM\":null,\"AESCBC\":null,\"Secretbox\":null,\"Identity\":null,\"KMS\":null}: provider does not \
         contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
    );
    let both = format!("{{aescbc: {{keys: [{{name: a, secret: {KEY}}}]}}, identity: {{}}}}");
    let problem = Configuration::read(&document(&with(&both))).expect_err("refused").to_string();
    assert!(problem.ends_with(
        "more than one provider specified in a single element, should split into different list elements"
    ));
    assert!(!problem.contains(KEY), "keys are not shown");
}

#[test]
fn keys_follow_rules() {
    let at = "resources[0].providers[0].secretbox.keys[0]";
    let one =
        |key: &str, expected: &str| check(&with(&format!("{{secretbox: {{keys: [{key}]}}}}")), expected);
    one(
        "{}",
        &format!(
            "[{at}.name: Required value: name is a mandatory field for a key, \
             {at}.secret: Required value: secret is a mandatory field for a key]"
        ),
    );
    one(
        "{name: a, secret: \"!\"}",
        &format!("{at}.secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"),
    );
    one(
        "{name: a, secret: YWJj}",
        &format!(
            "{at}.secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 3, expected one of [32]"
        ),
    );
    check(
        &with("{aesgcm: {keys: [{name: a, secret: YWJj}]}}"),
        "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected \
         length, got 3, expected one of [16 24 32]",
    );
}

#[test]
fn services_follow_rules() {
    let at = "resources[0].providers[0].kms";
    let one = |kms: &str, expected: &str| check(&with(&format!("{{kms: {{{kms}}}}}")), expected);
    one(
        "apiVersion: v2, name: \"a:b\", endpoint: \"unix:///a\"",
        &format!("{at}.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'"),
    );
    one(
        "apiVersion: v2, name: a, endpoint: \"http://a\"",
        &format!(
            "{at}.endpoint: Invalid value: \"http://a\": unsupported scheme \"http\" for KMS provider, only unix is \
             supported"
        ),
    );
    one(
        "apiVersion: v2, name: a",
        &format!("{at}.endpoint: Invalid value: \"\": endpoint is a mandatory field for a kms"),
    );
    one(
        "apiVersion: v2, name: a, endpoint: \"unix:///a\", timeout: 0s, cachesize: 5",
        &format!(
            "[{at}.timeout: Invalid value: \"0s\": timeout should be a positive value, \
             {at}.cachesize: Invalid value: 5: cachesize is not supported in v2]"
        ),
    );
    one(
        "apiVersion: v3, name: a, endpoint: \"unix:///a\"",
        &format!(
            "{at}.apiVersion: Invalid value: \"v3\": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 \
             are supported"
        ),
    );
    let twice = "{kms: {apiVersion: v2, name: a, endpoint: \"unix:///a\"}}, {kms: {apiVersion: v2, name: a, endpoint: \
                 \"unix:///b\"}}";
    check(
        &with(twice),
        "resources[0].providers[1].kms.name: Invalid value: \"a\": duplicate KMS provider name a, names must be unique",
    );
}

#[test]
fn names_of_old_services_must_differ_only_for_reloads() {
    let twice = "{kms: {name: a, endpoint: \"unix:///a\"}}, {kms: {name: a, endpoint: \"unix:///b\"}}";
    let document = document(&with(twice));
    assert!(Configuration::checked(&document, Reload::No).is_ok());
    assert!(Configuration::checked(&document, Reload::Yes).is_err());
}
