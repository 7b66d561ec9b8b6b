//! Views read what is in the tree, and nothing else.

use keelson_object::scalar::IntOrString;
use keelson_object::{Map, Object, Value, View as _};
use keelson_views::core_v1::{PodSpec, ServicePort, ServiceSpec, Volume};

fn map(pairs: &[(&str, Value)]) -> Map {
    pairs.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()
}

#[test]
fn lists_of_structs_are_iterators_of_views() {
    let containers = ["a", "b"].map(|name| Value::Map(map(&[("name", name.into())])));
    let mut object = Object::default();
    object.fields.map_mut("spec").set("containers", containers.to_vec());
    let spec = PodSpec::of(&object, "spec").expect("it was just set");
    let names: Vec<_> = spec.containers().filter_map(|container| container.name()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(spec.init_containers().count(), 0);
    assert!(PodSpec::of(&object, "status").is_none());
}

#[test]
fn null_and_absent_are_none() {
    let spec = map(&[("hostname", Value::Null), ("hostNetwork", true.into()), ("priority", 0.into())]);
    let spec = PodSpec::over(&spec);
    assert_eq!((spec.hostname(), spec.subdomain()), (None, None));
    assert_eq!((spec.host_network(), spec.host_pid()), (Some(true), None));
    assert_eq!((spec.priority(), spec.active_deadline_seconds()), (Some(0), None));
    assert!(spec.node_selector().is_none());
    assert!(spec.security_context().is_none());
}

#[test]
fn embedded_structs_have_the_map_of_the_outer_one() {
    let volume = map(&[("name", "v".into()), ("emptyDir", Value::Map(map(&[("medium", "Memory".into())])))]);
    let volume = Volume::over(&volume);
    let through = volume.volume_source().empty_dir().and_then(|it| it.medium());
    assert_eq!(through, Some("Memory"));
    assert_eq!(volume.empty_dir().and_then(|it| it.medium()), through);
    assert_eq!(volume.as_map().len(), 2);
}

#[test]
fn scalars_have_the_type_of_their_field() {
    let spec = map(&[("clusterIPs", vec!["10.0.0.1".into()].into()), ("type", "ClusterIP".into())]);
    let spec = ServiceSpec::over(&spec);
    assert_eq!(spec.cluster_ips().collect::<Vec<_>>(), ["10.0.0.1"]);
    assert_eq!(spec.type_(), Some("ClusterIP"));
    let port = |target: Value| map(&[("targetPort", target)]);
    assert_eq!(ServicePort::over(&port("web".into())).target_port(), Some(IntOrString::String("web".into())));
    assert_eq!(ServicePort::over(&port(80.into())).target_port(), Some(IntOrString::Int(80)));
    assert_eq!(ServicePort::over(&Map::new()).target_port(), None);
}
