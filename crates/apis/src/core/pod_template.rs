//! PodTemplate: a template on its own, which no controller uses.

use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::part;
use crate::shared::pod_template::{self, Gates};
use crate::shared::workload_columns::{containers, labels};

/// PodTemplates, with feature gates.
pub(crate) struct PodTemplate(pub(crate) Gates);

/// Upstream: pkg/printers/internalversion/printers.go, printPodTemplate (v1.36.4).
pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::computed("Containers", |object| containers(spec(object), "name")),
        Column::computed("Images", |object| containers(spec(object), "image")),
        Column::computed("Pod Labels", |object| {
            let meta = object.fields.map("template").and_then(|it| it.map("metadata"));
            Cell::from(labels(meta.and_then(|it| it.map("labels"))))
        }),
    ]
}

fn spec(object: &Object) -> Option<&Map> {
    object.fields.map("template")?.map("spec")
}

impl Strategy for PodTemplate {
    fn default(&self, object: &mut Object) {
        pod_template::default(object.fields.map_mut("template"));
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        pod_template::warnings::of_template_in(object, old, "template")
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
        if let Some(spec) = part(&mut object.fields, "template").and_then(|it| part(it, "spec")) {
            self.0.drop(spec, None);
        }
    }

    /// Upstream: pkg/registry/core/podtemplate/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        if let Some(template) = part(&mut object.fields, "template").and_then(|it| part(it, "spec")) {
            self.0.drop(template, spec(old));
        }
        generation::advance(object, old, &["template"]);
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidatePodTemplate (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.check(object, Some(old), errors);
    }
}

impl PodTemplate {
    fn check(&self, object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
        let (template, empty) = (object.fields.map("template"), Map::new());
        let rules = self.0.template_rules(old.map(|it| it.fields.map("template").unwrap_or(&empty)));
        pod_template::check_template(template.unwrap_or(&empty), &rules, &Path::root("template"), errors);
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::Strategy as _;

    use super::{PodTemplate, columns};
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{cells, context, decoded};

    const TEXT: &str = r#"{"metadata": {"name": "a"}, "template": {"metadata": {"labels": {"b": "2", "a": "1"}},
        "spec": {"containers": [{"name": "x", "image": "i"}, {"name": "y", "image": "j"}]}}}"#;

    #[test]
    fn a_row_tells_containers_and_labels() {
        let object = decoded(&PodTemplate(Gates::default()), "v1 PodTemplate", TEXT);
        assert_eq!(cells(&columns(), &object), ["a", "x,y", "i,j", "a=1,b=2"]);
        assert_eq!(
            cells(&columns(), &decoded(&PodTemplate(Gates::default()), "v1 PodTemplate", "{}")),
            ["", "", "", "<none>"]
        );
    }

    #[test]
    fn a_changed_template_is_a_new_generation() {
        let mut old = decoded(&PodTemplate(Gates::default()), "v1 PodTemplate", TEXT);
        assert_eq!(old.fields.at("template.spec.restartPolicy"), Some(&"Always".into()));
        PodTemplate(Gates::default()).prepare_create(&context(), &mut old);
        let mut new = old.clone();
        PodTemplate(Gates::default()).prepare_update(&context(), &mut new, &old);
        assert_eq!(new.meta.generation, 1);
        new.fields.map_mut("template").map_mut("spec").set("restartPolicy", "Never");
        PodTemplate(Gates::default()).prepare_update(&context(), &mut new, &old);
        assert_eq!(new.meta.generation, 2);
    }
}
