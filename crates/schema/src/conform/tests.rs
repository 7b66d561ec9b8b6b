//! What clients send, what becomes of it, and what they are told.

use keelson_codec::json;
use keelson_object::{Object, Value};

use crate::Schema;

/// `kind` is `apps/v1 Deployment`.
fn schema(kind: &str) -> Schema {
    let (version, kind) = kind.split_once(' ').expect("version and kind");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Schema::builtin(group, version, kind).expect("a built-in kind")
}

fn parse(text: &str) -> Value {
    json::read(text.as_bytes()).expect("JSON").value
}

fn print(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).expect("UTF-8")
}

/// `expected` is the form that `sent` gets, and then a line for each unknown field; or the error.
#[track_caller]
fn check(kind: &str, sent: &str, expected: &str) {
    let schema = schema(kind);
    let mut value = parse(sent);
    let seen = match schema.conform(&mut value) {
        Ok(unknown) => {
            let mut again = value.clone();
            assert_eq!(schema.conform(&mut again).as_deref(), Ok(&[][..]), "the form conforms");
            assert_eq!(print(&again), print(&value), "the form is stable");
            unknown.iter().fold(print(&value), |text, path| text + "\n" + path)
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(seen, expected);
}

/// Like [`check`], of a field of a pod's spec.
#[track_caller]
fn check_spec(sent: &str, expected: &str) {
    let expected = match expected.strip_prefix("json: ") {
        Some(_) => expected.to_owned(),
        None => format!(r#"{{"metadata":{{}},"spec":{expected},"status":{{}}}}"#),
    };
    check("v1 Pod", &format!(r#"{{"spec":{sent}}}"#), &expected);
}

#[test]
fn fields_come_in_the_order_of_the_schema_and_maps_in_that_of_their_keys() {
    check(
        "apps/v1 Deployment",
        r#"{"spec":{"selector":{"matchLabels":{"b":"2","a":"1"}},"paused":false,"wrong":1},
            "kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","creationTimestamp":null}}"#,
        concat!(
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"#,
            r#""spec":{"selector":{"matchLabels":{"a":"1","b":"2"}},"#,
            r#""template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}"#,
            "\nspec.wrong"
        ),
    );
}

#[test]
fn nothing_is_everything_that_go_writes_anyway() {
    check("v1 ConfigMap", "{}", r#"{"metadata":{}}"#);
    check("v1 Service", "{}", r#"{"metadata":{},"spec":{},"status":{"loadBalancer":{}}}"#);
    check("rbac.authorization.k8s.io/v1 Role", "{}", r#"{"metadata":{},"rules":null}"#);
    check("rbac.authorization.k8s.io/v1 Role", r#"{"rules":[]}"#, r#"{"metadata":{},"rules":[]}"#);
    check("apps/v1 ControllerRevision", "{}", r#"{"metadata":{},"data":null,"revision":0}"#);
    check(
        "v1 Event",
        "{}",
        concat!(
            r#"{"metadata":{},"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"#,
            r#""eventTime":null,"reportingComponent":"","reportingInstance":""}"#
        ),
    );
}

#[test]
fn nulls_are_zeros() {
    check_spec("null", r#"{"containers":null}"#);
    check_spec(r#"{"containers":[null]}"#, r#"{"containers":[{"name":"","resources":{}}]}"#);
    check_spec(
        r#"{"nodeSelector":{"a":null},"containers":null,"hostname":null}"#,
        r#"{"containers":null,"nodeSelector":{"a":""}}"#,
    );
    check(
        "authentication.k8s.io/v1 TokenReview",
        r#"{"status":{"user":{"extra":{"a":null,"b":[]}}}}"#,
        r#"{"metadata":{},"spec":{},"status":{"user":{"extra":{"a":[],"b":[]}}}}"#,
    );
    check("v1 Secret", r#"{"data":{"a":null,"b":""}}"#, r#"{"metadata":{},"data":{"a":"","b":""}}"#);
    check(
        "apps/v1 Deployment",
        r#"{"spec":{"replicas":null,"selector":null}}"#,
        concat!(
            r#"{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"#,
            r#""strategy":{}},"status":{}}"#
        ),
    );
}

#[test]
fn pointers_keep_what_is_zero() {
    check_spec(
        r#"{"terminationGracePeriodSeconds":0,"activeDeadlineSeconds":null,"priority":0,"hostNetwork":false,
            "securityContext":{},"containers":[]}"#,
        r#"{"containers":[],"terminationGracePeriodSeconds":0,"securityContext":{},"priority":0}"#,
    );
    check_spec(
        r#"{"volumes":[{"emptyDir":{},"name":"v"}],"containers":null}"#,
        r#"{"volumes":[{"name":"v","emptyDir":{}}],"containers":null}"#,
    );
}

#[test]
fn scalars_have_one_form() {
    check(
        "v1 Pod",
        r#"{"metadata":{"creationTimestamp":"2024-01-02T03:04:05.678+01:00"},"spec":{"containers":[
            {"name":"c","resources":{"limits":{"memory":"1024Mi","cpu":0.5,"pods":" 3 ","disk":null}}}]}}"#,
        concat!(
            r#"{"metadata":{"creationTimestamp":"2024-01-02T02:04:05Z"},"spec":{"containers":[{"name":"c","#,
            r#""resources":{"limits":{"cpu":"500m","disk":"0","memory":"1Gi","pods":"3"}}}]},"status":{}}"#
        ),
    );
    check("v1 Secret", r#"{"data":{"a":"YW\nI="}}"#, r#"{"metadata":{},"data":{"a":"YWI="}}"#);
    check("v1 Secret", r#"{"data":{"a":[97,98]}}"#, r#"{"metadata":{},"data":{"a":"YWI="}}"#);
    check(
        "v1 Service",
        r#"{"spec":{"ports":[{"port":1,"targetPort":"web"},{"port":2}]}}"#,
        concat!(
            r#"{"metadata":{},"spec":{"ports":[{"port":1,"targetPort":"web"},{"port":2,"targetPort":0}]},"#,
            r#""status":{"loadBalancer":{}}}"#
        ),
    );
}

#[test]
fn raw_objects_stay_as_they_came() {
    check(
        "apps/v1 ControllerRevision",
        r#"{"data":{"z":null,"a":[]},"revision":1}"#,
        r#"{"metadata":{},"data":{"z":null,"a":[]},"revision":1}"#,
    );
    check(
        "v1 Pod",
        r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:b":{},"f:a":{}},"manager":"m"}]}}"#,
        concat!(
            r#"{"metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:b":{},"f:a":{}}}]},"#,
            r#""spec":{"containers":null},"status":{}}"#
        ),
    );
}

#[test]
fn unknown_fields_are_named_in_the_order_of_the_document() {
    let check = |sent: &str, expected: &[&str]| {
        let mut value = parse(sent);
        let unknown = schema("apps/v1 Deployment").conform(&mut value).expect("right types");
        assert_eq!(unknown, expected);
    };
    check(
        r#"{"spec":{"foo":{"bar":1},"template":{"spec":{"containers":[{},{"nam":"a"}]}}},"kin":1}"#,
        &["spec.foo", "spec.template.spec.containers[1].nam", "kin"],
    );
    check(r#"{"metadata":{"Name":"a","labels":{"x":"y"}}}"#, &["metadata.Name"]);
    let many: Vec<String> = (0..200).map(|n| format!(r#""x{n}":1"#)).collect();
    let mut value = parse(&format!("{{{}}}", many.join(",")));
    assert_eq!(schema("v1 Pod").conform(&mut value).map(|it| it.len()), Ok(100));
    assert_eq!(value.as_map().map(keelson_object::Map::len), Some(3));
}

#[test]
fn unknown_fields_of_map_values_carry_the_key() {
    let sent = r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"typo":1,
        "items":{"hidden":1,"type":"string"}}}}}}]}}"#;
    let mut value = parse(sent);
    let unknown =
        schema("apiextensions.k8s.io/v1 CustomResourceDefinition").conform(&mut value).expect("right types");
    assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.typo"]);
    assert!(print(&value).contains(r#""properties":{"a":{"items":{"type":"string"}}}"#), "{}", print(&value));
}

#[test]
fn a_wrong_type_is_told_with_the_path_of_the_field() {
    let cannot = |what: &str| format!("json: cannot unmarshal {what}");
    let check = |kind: &str, sent: &str, what: &str| check(kind, sent, &cannot(what));
    let deployment = "apps/v1 Deployment";
    check(
        deployment,
        r#"{"spec":{"replicas":"3"}}"#,
        "string into Go struct field DeploymentSpec.spec.replicas of type int32",
    );
    check(
        deployment,
        r#"{"metadata":{"name":1}}"#,
        "number into Go struct field ObjectMeta.metadata.name of type string",
    );
    check(
        deployment,
        r#"{"metadata":{"labels":{"a":1}}}"#,
        "number into Go struct field ObjectMeta.metadata.labels of type string",
    );
    check(
        deployment,
        r#"{"metadata":{"labels":["a"]}}"#,
        "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
    );
    check(
        deployment,
        r#"{"metadata":{"uid":true}}"#,
        "bool into Go struct field ObjectMeta.metadata.uid of type types.UID",
    );
    check(
        deployment,
        r#"{"spec":[]}"#,
        "array into Go struct field Deployment.spec of type v1.DeploymentSpec",
    );
    check(deployment, "[]", "array into Go value of type v1.Deployment");
    check(deployment, r#"{"kind":3}"#, "number into Go struct field Deployment.TypeMeta.kind of type string");
    check(
        "v1 Pod",
        r#"{"spec":{"containers":{}}}"#,
        "object into Go struct field PodSpec.spec.containers of type []v1.Container",
    );
    check(
        "v1 Pod",
        r#"{"spec":{"containers":[{"ports":[{"protocol":6}]}]}}"#,
        "number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
    );
    check(
        "v1 Pod",
        r#"{"spec":{"volumes":[{"emptyDir":1}]}}"#,
        "number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
    );
    check(
        "v1 Pod",
        r#"{"spec":{"containers":[{"resources":{"limits":1}}]}}"#,
        "number into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
    );
}

#[test]
fn numbers_have_a_range() {
    let check = |replicas: &str, found: &str| {
        let sent = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
        let error = format!(
            "json: cannot unmarshal {found} into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
        check("apps/v1 Deployment", &sent, &error);
    };
    check("2147483648", "number 2147483648");
    check("-2147483649", "number -2147483649");
    check("1.5", "number 1.5");
    check("1.0", "number 1.0");
    check("10000000000000000000", "number 10000000000000000000");
}

#[test]
fn types_that_decode_themselves_have_errors_of_their_own() {
    check("v1 Secret", r#"{"data":{"a":"YWJj!"}}"#, "illegal base64 data at input byte 4");
    check(
        "v1 Pod",
        r#"{"metadata":{"creationTimestamp":5}}"#,
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    );
    check(
        "v1 Pod",
        r#"{"metadata":{"creationTimestamp":"yesterday"}}"#,
        r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
    );
    check(
        "v1 Service",
        r#"{"spec":{"ports":[{"targetPort":1.5}]}}"#,
        "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32",
    );
    check(
        "v1 Pod",
        r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"much"}}}]}}"#,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
}

#[test]
fn an_error_of_a_self_decoding_type_outranks_an_earlier_one() {
    check(
        "v1 Pod",
        r#"{"metadata":{"name":1,"creationTimestamp":"x"}}"#,
        r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
    );
    check(
        "v1 Pod",
        r#"{"metadata":{"name":1,"namespace":2}}"#,
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
    );
}

/// Like [`check`], of the schema in a definition.
#[track_caller]
fn check_schema(sent: &str, expected: &str) {
    let sent = format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{sent}}}}}]}}}}"#);
    let mut value = parse(&sent);
    let seen = match schema("apiextensions.k8s.io/v1 CustomResourceDefinition").conform(&mut value) {
        Ok(_) => {
            let text = print(&value);
            let (_, rest) = text.split_once(r#""openAPIV3Schema":"#).expect("a schema");
            rest.split("}}]").next().expect("its end").to_owned()
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(seen, expected);
}

#[test]
fn json_schemas_have_unions() {
    let same = |schema: &str| check_schema(schema, schema);
    same(r#"{"additionalProperties":true}"#);
    same(r#"{"dependencies":{"a":["b"],"c":{"type":"d"}}}"#);
    same(r#"{"default":{"b":1,"a":null}}"#);
    check_schema(
        r#"{"additionalProperties":{"x":1,"type":"string"}}"#,
        r#"{"additionalProperties":{"type":"string"}}"#,
    );
    check_schema(r#"{"additionalProperties":"x"}"#, "boolean or JSON schema expected");
    check_schema(r#"{"items":[{"type":"a"},null]}"#, r#"{"items":[{"type":"a"},{}]}"#);
    check_schema(r#"{"maximum":1.0,"minimum":0.5}"#, r#"{"maximum":1,"minimum":0.5}"#);
    check_schema(
        r#"{"properties":{"p":{"items":{"maxLength":"x"}}}}"#,
        "json: cannot unmarshal string into Go struct field \
         JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items.maxLength of type int64",
    );
}

#[test]
fn a_schema_in_a_schema_without_end_is_refused() {
    let deep = |levels: usize| {
        let open = r#"{"properties":{"a":"#.repeat(levels);
        format!(
            r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{open}{{}}{}}}}}]}}}}"#,
            "}}".repeat(levels)
        )
    };
    let conform = |levels| {
        let mut value = parse(&deep(levels));
        schema("apiextensions.k8s.io/v1 CustomResourceDefinition")
            .conform(&mut value)
            .map_err(|it| it.to_string())
    };
    assert_eq!(conform(200), Ok(Vec::new()));
    assert_eq!(conform(4000), Err("exceeded max depth".to_owned()));
}

#[test]
fn what_is_empty_is_nothing_only_once_it_is_stored() {
    let schema = schema("rbac.authorization.k8s.io/v1 Role");
    let mut value = parse(r#"{"metadata":{},"rules":[]}"#);
    schema.conform(&mut value).unwrap();
    let mut object = Object::from_value(value).unwrap();
    assert_eq!(object.fields.get("rules"), Some(&Value::List(Vec::new())));
    schema.arrange(&mut object);
    assert_eq!(object.fields.get("rules"), Some(&Value::Null));
}

#[test]
fn an_edited_object_is_arranged_without_losing_anything() {
    let schema = schema("apps/v1 Deployment");
    let mut value =
        parse(r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{}}"#);
    schema.conform(&mut value).expect("right types");
    let mut object = Object::from_value(value).expect("an object");
    let spec = object.fields.map_mut("spec");
    spec.set("progressDeadlineSeconds", 600);
    spec.set("paused", false);
    spec.set("minReadySeconds", "wrong");
    spec.set("replicas", 1);
    spec.set("surprise", 1);
    spec.map_mut("strategy").set("type", "Recreate");
    object.fields.remove("status");
    schema.arrange(&mut object);
    assert_eq!(
        print(&object.into_value()),
        concat!(
            r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"replicas":1,"#,
            r#""selector":null,"template":{"metadata":{},"spec":{"containers":null}},"#,
            r#""strategy":{"type":"Recreate"},"minReadySeconds":"wrong","progressDeadlineSeconds":600,"#,
            r#""surprise":1},"status":{}}"#
        )
    );
}
