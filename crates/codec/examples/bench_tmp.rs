//! temporary
use bytes::Bytes;
use keelson_codec::{json, stored};
use keelson_object::SelectableField;
fn main() {
    let mut fields = String::new();
    for i in 0..60 { fields += &format!("\"f:key{i}\":{{\".\":{{}},\"f:value{i}\":{{}}}},"); }
    let containers: Vec<String> = (0..4).map(|i| format!(r#"{{"name":"app-{i}","image":"registry.example.com/team/app:{i}.2.3","command":["/bin/app","--flag={i}"],"env":[{{"name":"A","value":"b"}},{{"name":"POD","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}}],"resources":{{"limits":{{"cpu":"1","memory":"1Gi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}"#)).collect();
    let pod = format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"web-7c5ddbdf54-x2x4z","generateName":"web-7c5ddbdf54-","namespace":"default","uid":"8d9c0b1e-1111-4000-8000-000000000001","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"web","pod-template-hash":"7c5ddbdf54","tier":"front"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7c5ddbdf54","uid":"u","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{{{}"f:x":{{}}}}}}]}},"spec":{{"containers":[{}],"nodeName":"node-17","restartPolicy":"Always","schedulerName":"default-scheduler","serviceAccountName":"default"}},"status":{{"phase":"Running","podIP":"10.0.0.1","conditions":[{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}}]}}}}"#, fields, containers.join(","));
    let bytes = Bytes::from(pod.clone());
    let sel: Vec<SelectableField> = ["metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP"].iter().map(|p| SelectableField::plain(p)).collect();
    let time = |name: &str, f: &mut dyn FnMut()| {
        let mut best = u128::MAX;
        for _ in 0..50 { let t = std::time::Instant::now(); for _ in 0..200 { f() } best = best.min(t.elapsed().as_nanos() / 200); }
        println!("{name}: {best} ns");
    };
    println!("{} bytes", pod.len());
    time("decode", &mut || { std::hint::black_box(stored::decode(&bytes, 123456, &sel).unwrap()); });
    time("read", &mut || { std::hint::black_box(json::read(&bytes).unwrap()); });
    let v = json::read(&bytes).unwrap().value;
    time("write", &mut || { std::hint::black_box(json::to_bytes(&v)); });
    let o = keelson_object::Object::from_value(v).unwrap();
    time("encode", &mut || { std::hint::black_box(stored::encode(&o)); });
    let fr = stored::decode(&bytes, 1, &sel).unwrap();
    time("thaw", &mut || { std::hint::black_box(stored::thaw(&fr, "v1", "Pod").unwrap()); });
    time("serde_json::Value", &mut || { std::hint::black_box(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()); });
}
