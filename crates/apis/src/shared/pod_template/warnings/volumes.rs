//! Warnings about volumes.

use keelson_object::scalar::quote;
use keelson_object::{Map, Path};

use super::overlaps::{File, Tree};
use crate::shared::claim_rules;

/// Volume sources that no longer work, in upstream's order and spelling.
const OUTDATED: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Warns about sources that no longer work, then about overlapping files.
pub(super) fn warn(spec: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    for (position, volume) in spec.maps("volumes").enumerate() {
        let at = at.index(position);
        for (source, spelled, advice) in OUTDATED {
            if volume.map(source).is_some() {
                warnings.push(format!("{}: {advice}", at.key(spelled)));
            }
        }
        let template = volume.map("ephemeral").and_then(|it| it.map("volumeClaimTemplate"));
        if let Some(spec) = template.and_then(|it| it.map("spec")) {
            warnings.extend(claim_rules::warnings(spec, &at.key("ephemeral.volumeClaimTemplate.spec")));
        }
    }
    spec.maps("volumes").for_each(|volume| warn_of_overlaps(volume, warnings));
}

/// Upstream: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths (v1.36.4).
fn warn_of_overlaps(volume: &Map, warnings: &mut Vec<String>) {
    let name = volume.str("name").unwrap_or_default();
    let text = |source: &Map, field| quote(source.str(field).unwrap_or_default());
    let sources =
        [("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "", "")];
    for (field, kind, named) in sources {
        let Some(source) = volume.map(field).filter(|it| it.list("items").len() > 1) else { continue };
        let what = if kind.is_empty() {
            "DownwardAPI".to_owned()
        } else {
            format!("{kind} {}", text(source, named))
        };
        let mut tree = Tree::new(format!("volume {} ({what}): overlapping paths", quote(name)));
        for item in source.maps("items") {
            tree.add(File { path: item.str("path").unwrap_or_default(), source: String::new() }, warnings);
        }
    }
    let Some(projected) = volume.map("projected") else { return };
    let mut tree = Tree::new(format!("volume {} (Projected): overlapping paths", quote(name)));
    for source in projected.maps("sources") {
        if source.iter().all(|(_, it)| it.is_null()) {
            warnings.push(format!("volume {} (Projected) has no sources provided", quote(name)));
        }
        for_each_file(source, |file| tree.add(file, warnings));
    }
}

/// The files of one source of a projected volume. If a source sets several types, upstream reads the first
/// only.
fn for_each_file<'s>(source: &'s Map, mut take: impl FnMut(File<'s>)) {
    let text = |holder: &'s Map, field| holder.str(field).unwrap_or_default();
    let with_items =
        |field| source.map(field).filter(|it: &&Map| it.get("items").is_some_and(|it| !it.is_null()));
    let mut take_items = |holder: &'s Map, what: &str| {
        holder.maps("items").for_each(|it| take(File { path: text(it, "path"), source: what.to_owned() }));
    };
    if let Some(map) = with_items("configMap") {
        take_items(map, &format!("ConfigMap {}", quote(text(map, "name"))));
    } else if let Some(secret) = with_items("secret") {
        take_items(secret, &format!("Secret {}", quote(text(secret, "name"))));
    } else if let Some(downward) = with_items("downwardAPI") {
        take_items(downward, "DownwardAPI");
    } else if let Some(token) = source.map("serviceAccountToken") {
        take(File { path: text(token, "path"), source: "ServiceAccountToken".to_owned() });
    } else if let Some(bundle) = source.map("clusterTrustBundle") {
        let name = bundle.str("name").or(bundle.str("signerName")).unwrap_or_default();
        take(File { path: text(bundle, "path"), source: format!("ClusterTrustBundle {}", quote(name)) });
    } else if let Some(certificate) = source.map("podCertificate") {
        let fields = [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ];
        for (field, what) in fields {
            let path = text(certificate, field);
            if !path.is_empty() {
                take(File { path, source: what.to_owned() });
            }
        }
    }
}
