"""Webhooks written with kopf: they label config maps, and refuse those that are called bad."""

import os

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    folder = os.environ["FOLDER"]
    settings.admission.managed = "auto.kopf.dev"
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        certfile=f"{folder}/tls.crt",
        pkeyfile=f"{folder}/tls.key",
        cafile=f"{folder}/ca.crt",
    )


@kopf.on.mutate("", "v1", "configmaps", operation="CREATE")
def label(patch: kopf.Patch, warnings: list[str], **_):
    patch.metadata.labels["admitted"] = "kopf"
    warnings.append("labelled by kopf")


@kopf.on.validate("", "v1", "configmaps")
def judge(name: str, body: kopf.Body, **_):
    if (name or "").startswith("bad"):
        raise kopf.AdmissionError("it is bad", code=418)
