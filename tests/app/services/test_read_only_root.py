"""A service on a read-only system with a writable data folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# As containers with a read-only root file system: first the folder itself stays writable.
READ_ONLY = """
set -e
mount --bind "$0" "$0"
mount --bind / / && mount -o remount,ro,bind /
for folder in /tmp /var/tmp /dev/shm; do
    mount --bind $folder $folder && mount -o remount,ro,bind $folder
done
mount --bind "$0" "$0" && mount -o remount,rw,bind "$0"
cd "$1" && shift && exec "$@"
"""
SERVICE = """
import io, json, sys
from PIL import Image
from starlette.testclient import TestClient
from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings

photo = io.BytesIO()
Image.effect_noise((1500, 1500), 90).save(photo, "PNG")
line = {"id": "long", "sentences": ["red"], "metadata": {"text": "word " * 40_000}}
settings = Settings(data=sys.argv[1], matcher=sys.argv[2], captioner=None,
                    region_captioner=None, grounder=None, allowed_hosts=["testserver"])
engine = Engine.load(settings)
with TestClient(create_app(settings, engine), raise_server_exceptions=False) as client:
    ready = client.get("/readyz").status_code
    form = {"image": ("a.png", photo.getvalue())}
    stored = client.put("/items/a", files=form).status_code
    kind = {"content-type": "application/x-ndjson"}
    sent = client.post("/items", content=json.dumps(line) + "\\n", headers=kind)
print(json.dumps([ready, stored, sent.json()["status"], len(photo.getvalue()) > 2**20]))
engine.close()
"""


@pytest.mark.system
def test_large_bodies_are_kept_in_the_data_folder(tmp_path: Path, small_matcher: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root and unshare, to mount folders for one process")
    service = (sys.executable, "-c", SERVICE, tmp_path, small_matcher)
    root = Path(__file__).parents[3]
    ran = subprocess.run(  # noqa: S603 - our own command
        [unshare, "-m", "sh", "-c", READ_ONLY, tmp_path, root, *service],
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount:" in ran.stderr:
        pytest.skip(f"no folder can be mounted here: {ran.stderr}")
    assert json.loads(ran.stdout) == [200, 201, "stored", True], ran.stderr
