"""Tokens of the issuer let in, as far as their groups may."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from starlette.testclient import TestClient

from app.access import issuer as issuers
from app.access.key_file import add_key
from app.access.keys import make_key
from app.engine.engine import Engine
from app.main import create_app
from app.roles import Role
from app.settings import Settings
from tests.outside.issuers import AUDIENCE, Issuer, issue


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issue() as listening:
        yield listening


@pytest.fixture
def chosen(settings: Settings, issuer: Issuer, tmp_path: Path) -> Settings:
    about = {"oidc_issuer": issuer.address, "oidc_audience": AUDIENCE}
    return settings.model_copy(update={**about, "audit": tmp_path / "audit.jsonl"})


@pytest.fixture
def service(chosen: Settings, engine: Engine) -> TestClient:
    return TestClient(create_app(chosen, engine), raise_server_exceptions=False)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def get(client: TestClient, token: str, path: str = "/items") -> tuple[int, str]:
    answer = client.get(path, headers=bearer(token))
    if answer.status_code == 401:
        assert answer.headers["www-authenticate"] == 'Bearer realm="Tessera"'
        assert answer.json()["type"] == "urn:tessera:problem:unauthorized"
    return answer.status_code, answer.json().get("detail", "")


def test_a_token_opens_what_its_groups_may(service: TestClient, issuer: Issuer) -> None:
    assert get(service, issuer.issue())[0] == 200
    item = {"json": {"sentences": ["red"]}}
    refused = service.put("/items/a", headers=bearer(issuer.issue()), **item)
    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        "the user 'anna' has the role read, and this needs the role write"
    )
    writer = issuer.issue(groups=["tessera-read", "tessera-write", "others"])
    assert service.put("/items/a", headers=bearer(writer), **item).status_code == 201
    session = service.get("/session", headers=bearer(writer)).json()
    assert (session["name"], session["role"], session["key_needed"]) == ("anna", "write", True)
    status, reason = get(service, issuer.issue(groups=["others"]))
    assert status == 403
    assert reason == (
        "the user 'anna' has no role here: TESSERA_USER_ROLES names none of the user's 1 groups, "
        "read from the claim 'groups'"
    )
    keyless = service.get("/items")
    assert (keyless.status_code, keyless.json()["detail"]) == (
        401,
        "this needs a key, or a token of its issuer, with the role read: send Authorization: "
        "Bearer KEY or TOKEN, or X-API-Key: KEY",
    )
    assert service.get("/session").json()["role"] is None


def test_keys_open_as_before(service: TestClient, chosen: Settings) -> None:
    secret, key = make_key("erp", Role.READ)
    add_key(chosen.keys_file, key)
    assert get(service, secret)[0] == 200
    assert get(service, "tessera_wrong") == (
        401,
        "this key is not known here, nor is it a token (a signed JWT); tessera keys list shows "
        "which there are",
    )


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": 1_000_000_000}, "this token has expired"),
        ({"exp": None}, "this token has no claim exp"),
        ({"nbf": 9_000_000_000}, "this token is not valid yet"),
        ({"aud": "another"}, "this token is for another service"),
        ({"aud": None}, "this token has no claim aud"),
        ({"iss": "https://evil.example"}, "this token is of another issuer"),
        ({"iss": None}, "this token is of another issuer"),
        ({"sub": None}, "this token has no sub"),
        ({"sub": "a\nb"}, "the user has no name that can be used"),
    ],
)
def test_what_a_token_says_has_to_fit(
    service: TestClient, issuer: Issuer, claims: dict[str, Any], reason: str
) -> None:
    status, detail = get(service, issuer.issue(**claims))
    assert (status, detail[: len(reason)]) == (401, reason)


def test_a_token_that_others_have_signed_is_refused(service: TestClient, issuer: Issuer) -> None:
    issuer.add("b")
    unsigned = jwt.encode({"iss": issuer.address}, None, algorithm="none")
    public = (
        issuer.keys["a"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    parts = issuer.issue().split(".")
    changed = json.dumps({"iss": issuer.address, "groups": ["tessera-admin"]}).encode()
    payload = urlsafe_b64encode(changed).rstrip(b"=").decode()
    header = urlsafe_b64encode(b'{"alg": "HS256", "kid": "a"}').rstrip(b"=").decode()
    signature = jwt.api_jws.get_default_algorithms()["HS256"].sign(
        f"{header}.{payload}".encode(), public
    )
    confused = f"{header}.{payload}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    for token in (
        issuer.issue("a", key=issuer.keys["b"]),
        f"{parts[0]}.{payload}.{parts[2]}",
        confused,
        unsigned,
    ):
        status, detail = get(service, token)
        assert status == 401
        assert "is not signed by a key of" in detail or "no key that" in detail
    for token in ("a.b.c", "..", f"{parts[0]}..{parts[2]}"):
        assert get(service, token)[0] == 401


@pytest.mark.parametrize("kind", ["RS512", "PS256", "ES256", "EdDSA"])
def test_algorithms_are_those_of_the_key(service: TestClient, issuer: Issuer, kind: str) -> None:
    issuer.add("b", kind)
    assert get(service, issuer.issue("b", kind))[0] == 200


def test_a_key_is_for_its_own_algorithm_and_use(service: TestClient, issuer: Issuer) -> None:
    issuer.add("b", alg="RS256")
    issuer.add("c", use="enc")
    issuer.published.append({"kty": "oct", "k": "c2VjcmV0", "kid": "d"})
    issuer.published.append({"kty": "odd", "kid": "e"})
    assert get(service, issuer.issue("b"))[0] == 200
    assert get(service, issuer.issue("b", "PS256"))[0] == 401
    assert get(service, issuer.issue("c"))[0] == 401
    secret = issuer.issue("d", "HS256", key=b"secret" * 6)
    assert "signed by no key that" in get(service, secret)[1]


def test_a_new_key_is_read_once_and_not_at_every_unknown_id(
    service: TestClient, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert get(service, issuer.issue())[0] == 200
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]
    issuer.add("b")
    for _ in range(3):
        assert get(service, issuer.issue("b"))[0] == 401
    assert len(issuer.asked) == 2, "within the pause"
    monkeypatch.setattr(issuers, "PAUSE", 0.0)
    assert get(service, issuer.issue("b"))[0] == 200
    assert len(issuer.asked) == 4
    foreign = issuer.issue("x", key=issuer.keys["a"], iss="https://evil.example")
    assert get(service, foreign)[0] == 401
    assert len(issuer.asked) == 4, "another issuer's token asks for nothing"


def test_keys_hold_while_the_issuer_is_away_and_not_for_ever(
    service: TestClient, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.status = 500
    status, detail = get(service, issuer.issue())
    assert (status, "cannot be read now" in detail) == (503, True)
    issuer.status = 200
    monkeypatch.setattr(issuers, "PAUSE", 0.0)
    assert get(service, issuer.issue())[0] == 200
    issuer.status = 500
    monkeypatch.setattr(issuers, "FRESH", 0.0)
    assert get(service, issuer.issue())[0] == 200
    issuer.status = 200
    issuer.published.clear()
    issuer.add("b")
    assert get(service, issuer.issue("a"))[0] == 401, "a key that was taken back"
    issuer.status = 500
    status, detail = get(service, issuer.issue("a"))
    assert (status, "may have 'a' by now" in detail) == (503, True), "a new key, for all one knows"
    monkeypatch.setattr(issuers, "LONGEST", 0.0)
    assert get(service, issuer.issue("b"))[0] == 503


@pytest.mark.parametrize(
    "about",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://evil.example/keys"},
        {"jwks_uri": 1},
    ],
)
def test_documents_of_another_issuer_are_not_believed(
    service: TestClient, issuer: Issuer, about: dict[str, Any]
) -> None:
    issuer.about = about
    assert get(service, issuer.issue())[0] == 503


def test_claims_are_named_by_the_settings(chosen: Settings, engine: Engine, issuer: Issuer) -> None:
    about = {"oidc_user_claim": "email", "oidc_groups_claim": "realm_access.roles"}
    about |= {"oidc_collections_claim": "https://tessera.example/collections"}
    roles: dict[str, Any] = {"user_roles": {"*": Role.READ, "photo team": Role.ADMIN}}
    named = chosen.model_copy(update=about | roles)
    service = TestClient(create_app(named, engine))
    claims: dict[str, Any] = {"email": "anna@shop.example", "groups": None}
    claims |= {"https://tessera.example/collections": ["shop"]}
    admin = claims | {"realm_access": {"roles": ["photo team"]}}
    for sent, role in ((claims, "read"), (admin, "admin")):
        session = service.get("/session", headers=bearer(issuer.issue(**sent))).json()
        assert session | {"originals": False} == {
            "key_needed": True,
            "name": "anna@shop.example",
            "role": role,
            "collections": ["shop"],
            "originals": False,
        }
    assert get(service, issuer.issue(**admin), "/items?collection=default")[0] == 403
    none = claims | {"https://tessera.example/collections": []}
    assert get(service, issuer.issue(**none)) == (
        403,
        "the user 'anna@shop.example' has no collections here: the claim "
        "'https://tessera.example/collections' names none",
    )


def test_scopes_are_divided_by_spaces_and_other_texts_are_not(
    chosen: Settings, engine: Engine, issuer: Issuer
) -> None:
    scopes = chosen.model_copy(update={"oidc_groups_claim": "scope"})
    token = issuer.issue(scope="openid tessera-read", groups="no tessera-read")
    assert get(TestClient(create_app(scopes, engine)), token)[0] == 200
    assert get(TestClient(create_app(chosen, engine)), token)[0] == 403


def test_the_audit_names_the_user_and_not_the_token(
    service: TestClient, issuer: Issuer, chosen: Settings
) -> None:
    token = issuer.issue(groups=["tessera-write"])
    service.put("/items/a", headers=bearer(token), json={"sentences": ["red"]})
    assert chosen.audit is not None
    line = json.loads(chosen.audit.read_text("utf-8"))
    assert (line["who"], line["signed_in_by"], line["status"]) == ("anna", "token", 201)
    assert token not in json.dumps(line)


def test_clocks_may_differ_a_little(service: TestClient, issuer: Issuer) -> None:
    now = int(time.time())
    assert get(service, issuer.issue(exp=now - 10))[0] == 200
    assert get(service, issuer.issue(nbf=now + 10))[0] == 200
    for claims in ({"exp": now - 60}, {"nbf": now + 60}):
        assert get(service, issuer.issue(**claims))[0] == 401


@pytest.mark.parametrize(
    ("given", "mistake"),
    [
        ({"oidc_issuer": "https://a.example"}, "TESSERA_OIDC_ISSUER needs TESSERA_OIDC_AUDIENCE"),
        ({"oidc_audience": "t"}, "TESSERA_OIDC_AUDIENCE needs TESSERA_OIDC_ISSUER"),
        ({"oidc_groups_claim": "g"}, "TESSERA_OIDC_GROUPS_CLAIM needs TESSERA_OIDC_ISSUER"),
        ({"oidc_user_claim": "u"}, "TESSERA_OIDC_USER_CLAIM needs TESSERA_OIDC_ISSUER"),
        ({"user_roles": {"*": "read"}}, "TESSERA_USER_ROLES needs TESSERA_OIDC_ISSUER or"),
        (
            {"oidc_issuer": "http://a.example", "oidc_audience": "t"},
            "TESSERA_OIDC_ISSUER is an https:// address",
        ),
        (
            {"oidc_issuer": "https://a.example?b", "oidc_audience": "t"},
            "TESSERA_OIDC_ISSUER is an https:// address without",
        ),
        (
            {"oidc_issuer": "https://a.example", "oidc_audience": "t", "open": True},
            "--open would let everyone in",
        ),
        (
            {"oidc_issuer": "https://a.example", "oidc_audience": "t", "user_roles": {}},
            "TESSERA_USER_ROLES has no role",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: Settings, given: dict[str, Any], mistake: str
) -> None:
    with pytest.raises(ValueError, match=mistake):
        create_app(settings.model_copy(update=given))


def test_users_are_enough_for_an_address_that_others_reach(settings: Settings) -> None:
    about = {"host": "0.0.0.0", "oidc_issuer": "https://a.example"}  # noqa: S104
    create_app(settings.model_copy(update=about | {"oidc_audience": "t"}))
