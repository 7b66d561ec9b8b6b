//! `certificates.k8s.io`: certificate requests and trust bundles.

mod cluster_trust_bundle;
pub(crate) mod keys;
mod pod_certificate_request;
mod signing_request;

use keelson_object::SelectableField;
use keelson_registry::{Group, Resource, Version};

pub(crate) fn group() -> Group {
    Group::new("certificates.k8s.io")
        .serve(
            Resource::cluster("CertificateSigningRequest", "certificatesigningrequests")
                .short_name("csr")
                .version(Version::stored("v1"))
                .columns(signing_request::columns())
                .selectable(SelectableField::plain("spec.signerName"))
                .with_status()
                .with_part(signing_request::APPROVAL)
                .strategy(signing_request::SigningRequest),
        )
        .serve(
            Resource::cluster("ClusterTrustBundle", "clustertrustbundles")
                .version(Version::stored("v1beta1").gate("ClusterTrustBundle"))
                .version(Version::served("v1alpha1").gate("ClusterTrustBundle"))
                .columns(cluster_trust_bundle::columns())
                .selectable(SelectableField::plain("spec.signerName"))
                .conditional_update()
                .strategy(cluster_trust_bundle::ClusterTrustBundle),
        )
        .serve(
            Resource::namespaced("PodCertificateRequest", "podcertificaterequests")
                .version(Version::stored("v1beta1").gate("PodCertificateRequest"))
                .columns(pod_certificate_request::columns())
                .selectable(SelectableField::plain("spec.signerName"))
                .selectable(SelectableField::plain("spec.podName"))
                .selectable(SelectableField::plain("spec.nodeName"))
                .with_status()
                .conditional_update()
                .strategy(pod_certificate_request::PodCertificateRequest)
                .guarded(pod_certificate_request::SignerOnly),
        )
}
