//! Options of the pod rules: feature gates, and what an existing object may keep.

pub(super) mod containers;

use keelson_object::Map;
use keelson_object::selector::validate_label_selector;
use keelson_object::{FieldErrors, Path};

use super::annotations::{self, Annotations};
use super::{affinity, dns, host, paths, resources, security, topology, visit};
use crate::catalog::Settings;

/// Relaxations of the rules. Features that every emulated version has are not listed.
///
/// Upstream: pkg/apis/core/validation/validation.go, PodValidationOptions (v1.36.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PodRules {
    /// The deletion cost may be an invalid number.
    pub(crate) any_deletion_cost: bool,
    /// Selectors of affinity terms may have invalid label values.
    pub(crate) any_selector_value: bool,
    /// Huge pages need not come in whole pages.
    pub(crate) indivisible_huge_pages: bool,
    /// Selectors of spread constraints may have invalid label values.
    pub(crate) any_spread_selector: bool,
    /// The path of a projected token may leave its volume.
    pub(crate) any_token_path: bool,
    /// Settings of the kernel that belong to a namespace, in a pod that shares that of the host.
    pub(crate) host_sysctls: bool,
    /// It is a pod, not the template of one.
    pub(crate) is_pod: bool,
    /// `seLinuxChangePolicy` may only be `Recursive`.
    pub(crate) only_recursive_selinux: bool,
    /// `spec.resources` counts.
    pub(crate) pod_level_resources: bool,
    /// `spec.resources` may be resized in place.
    pub(crate) pod_level_resize: bool,
    /// Required node affinity may have invalid label values.
    pub(crate) any_node_affinity_value: bool,
    /// `matchLabelKeys` of spread constraints counts.
    pub(crate) spread_match_label_keys: bool,
    /// `matchLabelKeys` of spread constraints is merged into the selector.
    pub(crate) spread_merge: bool,
    /// The old object had `matchLabelKeys` that the current rules reject.
    pub(crate) old_breaks_match_label_keys: bool,
    /// The old object had `matchLabelKeys` that the rules without the merge reject.
    pub(crate) old_breaks_unmerged_match_label_keys: bool,
    /// Variables may come from files.
    pub(crate) env_files: bool,
    /// Containers may have their own restart rules.
    pub(crate) container_restart_rules: bool,
    /// Regular init containers may keep the resize policy `RestartContainer`.
    pub(crate) restart_resize_of_init: bool,
    /// A pod with its own user namespace may keep its block devices.
    pub(crate) devices_without_host_users: bool,
    /// Tolerations may compare numbers.
    pub(crate) toleration_comparisons: bool,
    /// A pod with its own user namespace may use the network of the host.
    pub(crate) host_network_without_host_users: bool,
    /// A container may restart all others.
    pub(crate) restart_all_containers: bool,
    /// Statuses may contain the digest of an image volume.
    pub(crate) image_volume_digest: bool,
    /// Search domains may contain underscores, and be a dot.
    pub(crate) relaxed_searches: bool,
    /// Addresses are written as they must be today.
    pub(crate) strict_addresses: bool,
    /// Privileged containers are allowed.
    pub(crate) privileged: bool,
    /// Regular init containers can be resized as well.
    pub(crate) init_container_resize: bool,
    /// A node can be nominated only for a pod that has none.
    pub(crate) nominated_until_bound: bool,
}

impl Default for PodRules {
    /// The rules for the default feature gates.
    fn default() -> PodRules {
        PodRules {
            any_deletion_cost: false,
            any_selector_value: false,
            indivisible_huge_pages: false,
            any_spread_selector: false,
            any_token_path: false,
            host_sysctls: false,
            is_pod: false,
            only_recursive_selinux: true,
            pod_level_resources: true,
            pod_level_resize: true,
            any_node_affinity_value: false,
            spread_match_label_keys: true,
            spread_merge: true,
            old_breaks_match_label_keys: false,
            old_breaks_unmerged_match_label_keys: false,
            env_files: true,
            container_restart_rules: true,
            restart_resize_of_init: false,
            devices_without_host_users: false,
            toleration_comparisons: false,
            host_network_without_host_users: false,
            restart_all_containers: true,
            image_volume_digest: false,
            relaxed_searches: true,
            strict_addresses: true,
            privileged: true,
            init_container_resize: true,
            nominated_until_bound: true,
        }
    }
}

impl PodRules {
    /// The rules of new templates, as features are.
    pub(crate) fn of(settings: &Settings) -> PodRules {
        let on = |feature| settings.is_on(feature);
        PodRules {
            any_deletion_cost: !on("PodDeletionCost"),
            only_recursive_selinux: !on("SELinuxMount"),
            pod_level_resources: on("PodLevelResources"),
            pod_level_resize: on("InPlacePodLevelResourcesVerticalScaling"),
            spread_match_label_keys: on("MatchLabelKeysInPodTopologySpread"),
            spread_merge: on("MatchLabelKeysInPodTopologySpreadSelectorMerge"),
            env_files: on("EnvFiles"),
            container_restart_rules: on("ContainerRestartRules"),
            toleration_comparisons: on("TaintTolerationComparisonOperators"),
            host_network_without_host_users: on("UserNamespacesHostNetworkSupport"),
            restart_all_containers: on("RestartAllContainersOnContainerExits"),
            image_volume_digest: on("ImageVolumeWithDigest"),
            relaxed_searches: !settings.is_missing("RelaxedDNSSearchValidation"),
            strict_addresses: on("StrictIPCIDRValidation"),
            privileged: settings.allow_privileged,
            init_container_resize: on("InPlacePodVerticalScalingInitContainers"),
            nominated_until_bound: on("ClearingNominatedNodeNameAfterBinding"),
            ..PodRules::default()
        }
    }

    /// The same for pods, not templates.
    pub(crate) fn for_pod(self) -> PodRules {
        PodRules { is_pod: true, ..self }
    }

    /// The rules for an update of a pod or template whose spec was `old` and whose annotations were `was`:
    /// invalid values that were there before may stay.
    ///
    /// Upstream: pkg/api/pod/util.go, GetValidationOptionsFromPodSpecAndMeta (v1.36.4).
    pub(crate) fn after(self, old: &Map, was: Annotations<'_>) -> PodRules {
        let mut rules = self;
        rules.keep_container_rules(old);
        rules.relaxed_searches |= dns::has_relaxed_search(old);
        rules.only_recursive_selinux &= old.at("securityContext.seLinuxChangePolicy").is_none();
        rules.toleration_comparisons |=
            old.maps("tolerations").any(|it| matches!(it.str("operator"), Some("Lt" | "Gt")));
        rules.host_network_without_host_users |= host::shares_network(old) && !host::shares_users(old);
        rules.any_selector_value = affinity::has_wrong_selector(old);
        rules.any_node_affinity_value = affinity::has_wrong_node_value(old);
        rules.any_spread_selector = old.maps("topologySpreadConstraints").any(has_wrong_selector);
        if rules.spread_match_label_keys && rules.spread_merge {
            rules.old_breaks_match_label_keys = topology::breaks_match_label_keys(old);
        } else if rules.spread_match_label_keys {
            rules.old_breaks_unmerged_match_label_keys = topology::breaks_unmerged_match_label_keys(old);
        }
        rules.any_token_path = paths::has_wrong_token_path(old);
        rules.host_sysctls = security::has_host_sysctl(old);
        rules.any_deletion_cost |= !annotations::is_deletion_cost(was);
        rules
    }

    fn keep_container_rules(&mut self, old: &Map) {
        self.restart_resize_of_init = containers::restarts_to_resize_init(old);
        self.env_files |= visit::containers(old).any(containers::reads_file);
        self.indivisible_huge_pages = resources::has_broken_pages(old);
        self.container_restart_rules |= containers::has_restart_rules(old);
        self.restart_all_containers |= containers::restarts_all(old);
        self.devices_without_host_users =
            !host::shares_users(old) && visit::containers(old).any(|it| !it.list("volumeDevices").is_empty());
    }
}

fn has_wrong_selector(holder: &Map) -> bool {
    let mut errors = FieldErrors::default();
    if let Some(selector) = holder.map("labelSelector") {
        validate_label_selector(selector, &Path::empty(), &mut errors);
    }
    !errors.is_empty()
}
