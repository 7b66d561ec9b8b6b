//! Objects of a request in the audit log, if the policy wants them.

use bytes::Bytes;
use keelson_audit::Record;
use keelson_codec::{cbor, json, yaml};
use keelson_object::{Map, Object, Value};
use keelson_schema::Schema;

use super::Call;
use super::patch::{Form, Language};

impl Call<'_> {
    fn record(&self) -> Option<&Record> {
        self.facts.record()
    }

    /// An object of this resource, in the stored version, that a client sent.
    pub(super) fn record_request(&self, object: &Object) {
        let Some(record) = self.record() else { return };
        self.record_reference(record, object);
        if record.wants_request() {
            let version = self.found.version();
            let mut shown = self.found.live.in_version(version, object.clone());
            shown.api_version = version.api_version.clone();
            record.request_object(bytes_of(shown, version.schema.as_ref()));
        }
    }

    /// An object of another kind that a client sent to a subresource.
    pub(super) fn record_foreign_request(&self, object: &Object, schema: Option<&Schema>) {
        let Some(record) = self.record() else { return };
        self.record_reference(record, object);
        if record.wants_request() {
            record.request_object(bytes_of(object.clone(), schema));
        }
    }

    /// Completes the reference by what the URL does not contain.
    ///
    /// Upstream: apiserver/pkg/audit/request.go, LogRequestObject (v1.36.4).
    fn record_reference(&self, record: &Record, object: &Object) {
        let meta = &object.meta;
        record.edit(|event| {
            let reference = event.object.get_or_insert_default();
            for (known, said) in [
                (&mut reference.namespace, &meta.namespace),
                (&mut reference.name, &meta.name),
                (&mut reference.uid, &meta.uid),
                (&mut reference.resource_version, &meta.resource_version),
            ] {
                if known.is_empty() {
                    known.push_str(said);
                }
            }
        });
    }

    /// A patch, as it was sent. (Upstream loses events of patches that are not JSON.)
    pub(super) fn record_patch(&self, form: Form, body: &Bytes) {
        let Some(record) = self.record().filter(|it| it.wants_request()) else { return };
        let value = match form {
            Form::Apply(Language::Yaml) => yaml::read(body).ok().map(|it| it.value),
            Form::Apply(Language::Cbor) => cbor::read(body).ok(),
            Form::Json | Form::Merge | Form::Strategic => json::read(body).ok().map(|it| it.value),
        };
        let unreadable = || Value::from(&*String::from_utf8_lossy(body));
        record.request_patch(json::to_bytes(&value.unwrap_or_else(unreadable)));
    }

    /// The options of a delete. The version is upstream's.
    pub(super) fn record_delete_options(&self, options: &Value) {
        const FIELDS: [&str; 6] = [
            "gracePeriodSeconds",
            "preconditions",
            "orphanDependents",
            "propagationPolicy",
            "dryRun",
            "ignoreStoreReadErrorWithClusterBreakingPotential",
        ];
        let Some(record) = self.record().filter(|it| it.wants_request()) else { return };
        let mut map = Map::new();
        map.push_new("kind", "DeleteOptions");
        map.push_new("apiVersion", "meta.k8s.io/__internal");
        for field in FIELDS {
            if let Some(value) = options.as_map().and_then(|it| it.get(field)).filter(|it| !it.is_null()) {
                map.push_new(field, value.clone());
            }
        }
        record.request_object(json::to_bytes(&Value::Map(map)));
    }

    /// Whether the policy wants the response object.
    pub(super) fn is_response_recorded(&self) -> bool {
        self.record().is_some_and(Record::wants_response)
    }

    /// The response object, as compact JSON that is made only if it is wanted.
    pub(super) fn record_response(&self, object: impl FnOnce() -> Option<Bytes>) {
        if let Some(record) = self.record().filter(|it| it.wants_response())
            && let Some(object) = object()
        {
            record.response_object(object);
        }
    }
}

fn bytes_of(mut object: Object, schema: Option<&Schema>) -> Bytes {
    if let Some(schema) = schema {
        schema.arrange(&mut object);
    }
    json::to_bytes(&object.into_value())
}
