//! Claims of volumes, wherever their spec stands: claims themselves, and templates of claims.

use keelson_object::Map;

use crate::shared::edit::{fill, part};
use crate::shared::resource_list;

/// Sets the defaults of a claim, in all kinds that contain one.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolumeClaim (v1.36.4), and what is in a claim.
pub(crate) fn default(claim: &mut Map) {
    default_spec(claim.map_mut("spec"));
    let status = claim.map_mut("status");
    fill(status, "phase", "Pending");
    resource_list::round_up(part(status, "capacity"));
    resource_list::round_up(part(status, "allocatedResources"));
}

/// Sets the defaults of the spec of a claim.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolumeClaimSpec (v1.36.4).
pub(crate) fn default_spec(spec: &mut Map) {
    spec.default_to("volumeMode", "Filesystem");
    resource_list::round_up_both(part(spec, "resources"));
}

/// The access modes, short and in upstream's order: `RWO,RWX`.
///
/// Upstream: pkg/apis/core/helper/helpers.go, GetAccessModesAsString (v1.36.4).
pub(crate) fn access_modes(holder: Option<&Map>) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = holder.map_or(&[][..], |it| it.list("accessModes"));
    let has = |mode: &str| modes.iter().any(|it| it.as_str() == Some(mode));
    let short: Vec<&str> = SHORT.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    short.join(",")
}

#[cfg(test)]
mod tests {
    use super::access_modes;
    use crate::shared::testing::tree;

    #[test]
    fn access_modes_are_short_unique_and_in_order() {
        let check = |modes: &str, expected: &str| {
            let holder = tree(&format!("{{\"accessModes\": {modes}}}"));
            assert_eq!(access_modes(holder.as_map()), expected, "{modes}");
        };
        check("[]", "");
        check(r#"["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany", "Nope"]"#, "RWO,RWX");
        check(r#"["ReadWriteOncePod", "ReadOnlyMany"]"#, "ROX,RWOP");
        assert_eq!(access_modes(None), "");
    }
}
