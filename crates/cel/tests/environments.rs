//! The environments of the features that are written in CEL: what each may use, and how it is evaluated.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use keelson_cel::authz::{Decision, Decisions, Subject};
use keelson_cel::environments::{self, Admission, DeviceFeatures, DeviceSizes, OldSelf};
use keelson_cel::estimate::estimate;
use keelson_cel::fail::Cause;
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT, Variables};
use keelson_cel::value::{Opaque, Val};
use keelson_cel::{Env, Type};
use keelson_object::{Map, Value};
use keelson_structural::{Kind, Schema};

const LIMITED: Options<'_> = Options { cost_limit: Some(PER_CALL_LIMIT), decisions: None, interrupt: None };

fn object(entries: &[(&str, Value)]) -> Value {
    Value::Map(entries.iter().map(|(name, value)| ((*name).into(), value.clone())).collect::<Map>())
}

#[track_caller]
fn program(env: &Env, expression: &str) -> Program {
    Program::new(&env.compile(expression).unwrap()).unwrap()
}

#[track_caller]
fn is_true(env: &Env, expression: &str, variables: &dyn Variables) {
    let program = program(env, expression);
    assert_eq!(program.evaluate(variables, LIMITED).outcome.unwrap().as_bool(), Some(true), "{expression}");
}

#[track_caller]
fn is_refused(env: &Env, expression: &str, message: &str) {
    let issues = env.compile(expression).unwrap_err().to_string();
    assert!(issues.contains(message), "{issues}");
}

#[test]
fn rules_see_self_and_old_self_by_their_schema() {
    let schema = Schema {
        kind: Kind::Object,
        properties: [("replicas".into(), Schema { kind: Kind::Integer, ..Schema::default() }.into())].into(),
        ..Schema::default()
    };
    let (new, old) = (object(&[("replicas", 3.into())]), object(&[("replicas", 2.into())]));
    let [new, old] = [&new, &old].map(|tree| Val::typed(tree, &schema).unwrap());

    let rules = environments::rules(Env::stored(), &schema, OldSelf::Value).unwrap();
    let checked = rules.compile("self.replicas >= oldSelf.replicas").unwrap();
    assert_eq!(rules.estimate(&checked).max, 5);
    is_true(
        rules.env(),
        "self.replicas >= oldSelf.replicas",
        &[("self", new.clone()), ("oldSelf", old.clone())],
    );
    is_refused(rules.env(), "self.absent == 1", "undefined field 'absent'");

    let rules = environments::rules(Env::stored(), &schema, OldSelf::Optional).unwrap();
    let rule = "oldSelf.replicas.orValue(0) <= self.replicas";
    is_true(rules.env(), rule, &[("self", new.clone()), ("oldSelf", Val::some(old))]);
    is_true(rules.env(), rule, &[("self", new), ("oldSelf", Val::none())]);
}

#[test]
fn policies_see_the_request_with_its_types() {
    let env =
        Admission { variables: vec![("limit".into(), Type::Int)], ..Admission::default() }.env(Env::stored());
    let (new, request) = (object(&[("replicas", 3.into())]), object(&[("operation", "CREATE".into())]));
    let composed = object(&[("limit", 5.into())]);
    let variables =
        [("object", Val::json(&new)), ("request", Val::json(&request)), ("variables", Val::json(&composed))];
    is_true(&env, "request.operation == 'CREATE' && object.replicas < variables.limit", &variables);
    is_refused(&env, "request.operation == 1", "found no matching overload");
    is_refused(&env, "request.verb == ''", "undefined field 'verb'");
    is_refused(&env, "namespaceObject.metadata.creationTimestamp == ''", "found no matching overload");
    is_refused(&env, "variables.other", "undefined field 'other'");
    is_refused(&env, "params.x", "undeclared reference to 'params'");
    is_refused(&env, "authorizer.path('/')", "undeclared reference to 'authorizer'");
    is_refused(&env, "Object{}", "undeclared reference to 'Object'");
}

#[test]
fn patches_are_objects_whose_types_are_named_by_their_path() {
    let env = Admission { has_patch_types: true, ..Admission::default() }.env(Env::stored());
    let built = |expression: &str| {
        let program = program(&env, expression);
        let variables: [(&str, Val<'_>); 0] = [];
        let evaluated = program.evaluate(&variables, LIMITED);
        let Ok(Val::Opaque(value)) = evaluated.outcome else { panic!("{expression} made no object") };
        let Opaque::Object(patch) = &*value else { panic!("{expression} made no object") };
        patch.check_type_names().map_err(|failure| failure.to_string())
    };
    assert_eq!(built("Object{spec: Object.spec{replicas: 3}}"), Ok(()));
    assert_eq!(built("Object{spec: Object.spec{items: [Object.spec.items{a: 1}]}}"), Ok(()));
    let wrong = "unexpected type name \"Object.other\", expected \"Object.spec\", which matches field name path from \
                 root Object type";
    assert_eq!(built("Object{spec: Object.other{replicas: 3}}"), Err(wrong.to_owned()));
    assert_eq!(built("JSONPatch{op: 'add', path: '/spec/' + jsonpatch.escapeKey('a/b'), value: 1}"), Ok(()));
    is_refused(
        &env,
        "JSONPatch{op: 1}",
        "expected type of field 'op' is 'string' but provided type is 'int'",
    );
}

#[test]
fn match_conditions_stop_for_the_authorizer_and_go_on() {
    let env = environments::match_conditions(Env::stored());
    let program = program(&env, "authorizer.group('').resource('pods').check('create').allowed()");
    let variables = [("authorizer", Val::opaque(Opaque::Authorizer(Subject::User)))];
    let mut decisions = Decisions::new();
    let mut asked = 0;
    let outcome = loop {
        let options = Options { decisions: Some(&decisions), ..LIMITED };
        let failure = match program.evaluate(&variables, options).outcome {
            Ok(value) => break value.as_bool(),
            Err(failure) => failure,
        };
        let Cause::NeedsDecision(check) = failure.cause() else { panic!("{failure}") };
        // Here the server awaits its authorizer.
        asked += 1;
        decisions.add((**check).clone(), Decision { allowed: true, ..Decision::default() });
    };
    assert_eq!((outcome, asked), (Some(true), 1));
}

#[test]
fn authentication_sees_claims_and_users() {
    let claims = object(&[("sub", "alice".into()), ("groups", vec![Value::from("a")].into())]);
    let env = environments::claims(Env::stored());
    is_true(&env, "claims.sub.startsWith('al') && 'a' in claims.groups", &[("claims", Val::json(&claims))]);
    let user = object(&[("username", "alice".into())]);
    let env = environments::user(Env::stored());
    is_true(&env, "!user.username.startsWith('system:')", &[("user", Val::json(&user))]);
    is_refused(&env, "user.name == ''", "undefined field 'name'");
}

#[test]
fn authorizers_match_on_the_access_review() {
    let env = environments::subject_access_review(Env::stored());
    let request = object(&[("user", "alice".into())]);
    is_true(
        &env,
        "request.user == 'alice' && !has(request.resourceAttributes)",
        &[("request", Val::json(&request))],
    );
    is_refused(&env, "request.resourceAttributes.path == ''", "undefined field 'path'");
}

#[test]
fn devices_have_attributes_of_any_type() {
    let features = DeviceFeatures::default();
    let env = environments::devices(Env::stored(), features);
    let attributes = object(&[("dra.example.com", object(&[("fast", true.into())]))]);
    let device = object(&[("driver", "dra.example.com".into()), ("attributes", attributes)]);
    let selector = "cel.bind(dra, device.attributes['dra.example.com'], dra.fast && device.driver != '')";
    is_true(&env, selector, &[("device", Val::json(&device))]);
    is_refused(&env, "device.allowMultipleAllocations", "undefined field 'allowMultipleAllocations'");
    is_refused(&env, "device.attributes['a'].b.includes('c')", "undeclared reference to 'includes'");
    let checked = env.compile("device.driver == 'dra.example.com'").unwrap();
    assert_eq!(estimate(&checked, &DeviceSizes(features)).max, 4);
}

#[test]
fn includes_looks_into_lists_and_compares_the_rest() {
    let features = DeviceFeatures { list_attributes: true, consumable_capacity: true };
    let env = environments::devices(Env::stored(), features);
    let values = |count: i64| Value::from((0..count).map(Value::Int).collect::<Vec<_>>());
    let attributes = object(&[("few", values(3)), ("many", values(49)), ("one", 2.into())]);
    let device =
        object(&[("attributes", object(&[("d", attributes)])), ("allowMultipleAllocations", true.into())]);
    let variables = [("device", Val::json(&device))];
    is_true(&env, "device.attributes['d'].few.includes(2) && device.allowMultipleAllocations", &variables);
    is_true(&env, "!device.attributes['d'].few.includes('2')", &variables);
    is_true(
        &env,
        "device.attributes['d'].one.includes(2) && !device.attributes['d'].one.includes(3)",
        &variables,
    );
    is_true(&env, "device.attributes['d'].many.includes(47)", &variables);
    let program = program(&env, "device.attributes['d'].many.includes(50)");
    let failure = program.evaluate(&variables, LIMITED).outcome.unwrap_err();
    assert_eq!(failure.to_string(), "'includes' function cannot be applied to lists longer than 48 values");
}
