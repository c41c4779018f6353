from typing import Any

from starlette.testclient import TestClient


def ask(client: TestClient, **sent: Any) -> dict[str, Any]:
    answer = client.post("/search/image", json=sent)
    assert answer.status_code == 200, answer.text
    hits: dict[str, Any] = answer.json()
    return hits


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]
