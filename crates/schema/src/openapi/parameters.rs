//! Options as query parameters: `ListOptions` and its like are what a query may say.

use smol_str::SmolStr;

use super::tables;
use crate::builtin;
use crate::types::Shape;

/// One parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// `labelSelector`.
    pub name: SmolStr,
    /// `string`, `boolean` or `integer`.
    pub ty: &'static str,
}

/// The parameters that the options `kind` of a group version allow; none if there are no such options.
pub fn options(group: &str, version: &str, kind: &str) -> Vec<Parameter> {
    let Some(options) = tables::path_of(group, version).and_then(|it| builtin::find(it, kind)) else {
        return Vec::new();
    };
    let fields = options.fields().iter().filter(|field| field.embedded.is_empty());
    fields
        .filter_map(|field| Some(Parameter { name: field.name.clone(), ty: scalar(&field.ty.shape)? }))
        .collect()
}

/// The type of a parameter; a list is the same parameter several times, a struct has no place in a query.
fn scalar(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Bool => Some("boolean"),
        Shape::Int32 | Shape::Int64 => Some("integer"),
        Shape::Float64 => Some("number"),
        Shape::String => Some("string"),
        Shape::List(item) => scalar(&item.shape),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::options;

    #[test]
    fn options_become_parameters() {
        let check = |kind: &str, expected: &str| {
            let (group, version) = if kind.starts_with("Pod") { ("", "v1") } else { ("meta.k8s.io", "v1") };
            let text: Vec<String> =
                options(group, version, kind).iter().map(|it| format!("{}:{}", it.name, it.ty)).collect();
            assert_eq!(text.join(" "), expected, "{kind}");
        };
        check("PatchOptions", "dryRun:string force:boolean fieldManager:string fieldValidation:string");
        check(
            "DeleteOptions",
            "gracePeriodSeconds:integer orphanDependents:boolean propagationPolicy:string dryRun:string \
             ignoreStoreReadErrorWithClusterBreakingPotential:boolean",
        );
        check("PodPortForwardOptions", "ports:integer");
        check(
            "PodExecOptions",
            "stdin:boolean stdout:boolean stderr:boolean tty:boolean container:string command:string",
        );
        check("NoOptions", "");
    }
}
