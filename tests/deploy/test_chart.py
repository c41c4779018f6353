"""The Helm chart makes valid objects, and refuses useless values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import app
from app.settings import Settings

CHART = Path(__file__).parent.parent.parent / "deploy" / "chart"
KUBERNETES = "1.37"
KEYS = {"keys": {"secret": "keys"}}
POSTGRESQL = {"postgresql": {"enabled": True, "secret": "postgres"}}
SHARED = KEYS | POSTGRESQL | {"pictures": {"address": "s3://photos/shop", "secret": "store"}}
INGRESS = {"ingress": {"enabled": True, "host": "photos.example", "tlsSecret": "tls"}}
PLACES = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}], "affinity": {}}
WORKING: dict[str, dict[str, Any]] = {
    "one replica": KEYS,
    "another database": KEYS | {"database": {"secret": "database"}},
    "PostgreSQL": SHARED | {"replicas": 3},
    "growing": SHARED | {"autoscaling": {"enabled": True}},
    "at the most": SHARED | {"replicas": 4, "autoscaling": {"enabled": True}},
    "everything": SHARED
    | INGRESS
    | PLACES
    | {"imagePullSecrets": [{"name": "registry"}], "settings": {"LOG_QUERIES": "true"}},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no keys": ({}, "keys/secret"),
    "two replicas on one volume": (KEYS | {"replicas": 2}, "several replicas share a database"),
    "growth on one volume": (KEYS | {"autoscaling": {"enabled": True}}, "several replicas share"),
    "no password": (KEYS | {"postgresql": {"enabled": True}}, "needs postgresql.secret"),
    "two databases": (SHARED | {"database": {"secret": "database"}}, "two databases"),
    "more replicas than the most": (
        SHARED | {"replicas": 5, "autoscaling": {"enabled": True}},
        "autoscaling.maxReplicas",
    ),
    "no host": (KEYS | {"ingress": {"enabled": True}}, "needs ingress.host"),
    "a misspelt value": (KEYS | {"replica": 2}, "'replica' not allowed"),
    "a setting of the chart": (KEYS | {"settings": {"DATABASE": "x"}}, "'DATABASE'"),
    "a certificate, for which probes do not ask": (
        KEYS | {"settings": {"SSL_CERTFILE": "x"}},
        "'SSL_CERTFILE'",
    ),
    "a bad address": (KEYS | {"pictures": {"address": "/photos"}}, "pictures/address"),
}


def render(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of a release, by Helm's own engine."""
    helm = pytest.importorskip("helm_python", reason="run `make test-release`")
    texts = helm.Chart.load(CHART).render(values, name="a", namespace="shop", is_install=True)
    objects = [yaml.safe_load_all(text) for name, text in texts.items() if name.endswith("yaml")]
    return [each for some in objects for each in some if each]


def test_the_chart_has_the_version_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert {chart["version"], chart["appVersion"]} == {app.__version__}


def test_the_chart_sets_nothing_but_settings() -> None:
    texts = "".join(file.read_text("utf-8") for file in (CHART / "templates").iterdir())
    names = set(re.findall(r"name: TESSERA_([A-Z_]+[A-Z])\b", texts))
    assert names == {"ALLOWED_HOSTS", "PICTURES", "DATABASE"}
    assert {name.lower() for name in names} <= Settings.model_fields.keys()


@pytest.mark.parametrize("values", WORKING.values(), ids=WORKING)
def test_objects_are_as_kubernetes_defines_them(values: dict[str, Any]) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="run `make test-release`")
    objects = render(values)
    for each in objects:
        validate.validate(each, KUBERNETES, strict=True)
    wrong = objects[-1] | {"spec": {"replica": 1}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, KUBERNETES, strict=True)


def test_by_default_there_is_one_replica_that_does_not_grow() -> None:
    objects = render(KEYS)
    assert sorted(each["kind"] for each in objects) == ["Service", "StatefulSet"]
    pod = next(each for each in objects if each["kind"] == "StatefulSet")["spec"]
    assert pod["replicas"] == 1
    spec = pod["template"]["spec"]
    assert spec["enableServiceLinks"] is False  # a Service of the name sets TESSERA_PORT
    assert spec["containers"][0]["args"] == ["serve", "--no-sample"]
    assert "initContainers" not in spec  # SQLite is migrated by whatever opens it
    assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    assert spec["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_replicas_share_a_database_and_pictures_and_have_an_index_each() -> None:
    sets = {
        each["metadata"]["name"]: each["spec"]
        for each in render(WORKING["PostgreSQL"])
        if each["kind"] == "StatefulSet"
    }
    service = sets["a-tessera"]
    assert service["replicas"] == 3
    assert service["volumeClaimTemplates"][0]["metadata"]["name"] == "data"
    container = service["template"]["spec"]["containers"][0]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["TESSERA_PICTURES"] == "s3://photos/shop"
    assert (variables["TESSERA_DATABASE"] or "").endswith("@a-tessera-postgresql/tessera")
    assert {"a-tessera-postgresql"} == sets.keys() - {"a-tessera"}
    (migration,) = service["template"]["spec"]["initContainers"]
    assert migration["args"] == ["migrate"]
    assert migration["env"] == container["env"]


@pytest.mark.parametrize(("values", "reason"), REFUSED.values(), ids=REFUSED)
def test_values_that_do_not_work_are_refused(values: dict[str, Any], reason: str) -> None:
    helm = pytest.importorskip("helm_python", reason="run `make test-release`")
    with pytest.raises(helm.HelmError, match=re.escape(reason)):
        render(values)
