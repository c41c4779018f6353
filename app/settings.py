"""Settings: read from the environment as TESSERA_NAME, and from options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from app import chosen_model
from app.settings_checks import DataFolder, PictureStore, WebOrigin
from app.settings_limits import LimitSettings
from app.settings_users import UserSettings
from index.database.storage import DAY, VERIFY, WAIT, Storage
from models import shipped
from models.vision import visible_words

DATA = Path(".tessera")
Positions = Literal["full", "places", "none"]
WebhookReach = Literal["public", "any", "none"]


class Settings(LimitSettings, UserSettings):
    """Settings of this installation; the environment sets them as TESSERA_NAME."""

    model_config = SettingsConfigDict(env_prefix="TESSERA_", frozen=True)

    data: DataFolder = Field(
        default=DATA,
        description="Folder of the catalog, the photos' display copies and the index.",
    )
    database: str = Field(
        default="",
        repr=False,
        description="`sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/NAME`; SQLite in the "
        "data folder if not set.",
    )
    database_wait: PositiveFloat = Field(
        default=WAIT, description="Seconds that a change waits for the database; 503 beyond."
    )
    verify_seconds: PositiveFloat = Field(
        default=VERIFY,
        description="Seconds in which all files of the index are read again and compared with "
        "their checksums; more where that would be over 100 MB a second.",
    )
    pictures: PictureStore = Field(
        default="",
        description="Folder of the display copies, or an object store: `s3://BUCKET/PATH`; in the "
        "data folder if not set.",
    )
    sweep_after: int = Field(
        default=DAY,
        ge=0,
        description="Seconds until unused pictures are deleted, counted from the first sweep that "
        "finds them (operations.md#who-owns-the-pictures).",
    )
    snapshots: Path | None = Field(
        default=None, description="Folder of snapshots; `snapshots` in the data folder if not set."
    )
    matcher: Path = Field(
        default=shipped.MATCHER,
        description="Checkpoint that embeds and scores; if not set, the one that `tessera serve "
        "--model` chose for the data folder, else the one that ships.",
    )
    captioner: Path | None = Field(
        default=shipped.CAPTIONER,
        description="Checkpoint that writes captions, or `none`.",
    )
    region_captioner: Path | None = Field(
        default=shipped.REGION_CAPTIONER,
        description="Checkpoint that writes captions of regions, or `none`.",
    )
    grounder: Path | None = Field(
        default=shipped.GROUNDER,
        description="Checkpoint that finds phrases in photos, or `none`.",
    )
    parser: str | None = Field(
        default=None,
        description="spaCy pipeline for matchers that read trees: a folder, or a package such as "
        "`en_core_web_sm`; the one that ships if not set.",
    )
    synonyms: Path | None = Field(
        default=None,
        description="File of words that product search treats as equal: a line such as `sofa, "
        "couch, settee`.",
    )
    device: str = Field(
        default="cpu",
        pattern=r"^(cpu|mps|cuda(:\d+)?)$",
        description="Where models run, and searches on a GPU: `cpu`, `cuda`, `cuda:1`.",
    )
    inference: Literal["auto", "torch", "openvino"] = Field(
        default="auto",
        description="What runs the networks for photos on a CPU: `torch`, or `openvino`, which "
        "takes two thirds of the time; with `auto` it runs them where its extra is installed.",
    )
    threads: PositiveInt | None = Field(
        default=None,
        description="Processor threads of one inference; all cores or a container's quota "
        "if not set.",
    )
    host: str = Field(
        default="127.0.0.1", description="Address to listen at; `0.0.0.0` opens it to others."
    )
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen at; 0 takes a free one."
    )
    root_path: str = Field(
        default="",
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="Path below which a proxy serves this, such as `/tessera`; whether the proxy "
        "cuts it off or not.",
    )
    workers: PositiveInt = Field(
        default=1, description="Processes that serve; each loads the models."
    )
    cluster: str = Field(
        default="",
        description="Address of a Ray cluster that searches, or imports: `HOST:6379`, or `auto` "
        "(cluster.md).",
    )
    shards: PositiveInt = Field(
        default=4, le=1024, description="Parts into which a cluster's collections are cut."
    )
    replicas: PositiveInt = Field(
        default=2, le=16, description="Actors of a cluster that search the same shard."
    )
    shard_cpus: PositiveFloat = Field(
        default=1.0, description="Processors that Ray reserves for an actor that searches."
    )
    shard_seconds: PositiveFloat = Field(
        default=3.0, description="Seconds that a shard may take to answer; then it is left out."
    )
    positions: Positions = Field(
        default="full",
        description="What is stored of where a photo was taken: `full`, `places` for names "
        "alone, or `none` (photos.md#positions).",
    )
    originals: tuple[Path, ...] = Field(
        default=(),
        examples=[["/photos"]],
        description="Folders of photos whose files may be read by `/items/{id}/original`, as JSON: "
        '`["/photos"]` (photos.md#originals).',
    )
    series: Literal["same", "alike", "none"] = Field(
        default="same",
        description="Which photos imports of folders group: those of the `same` file, those that "
        "look `alike` as well, or `none` (photos.md#near-duplicates).",
    )
    ocr: bool = Field(
        default=False,
        description="Whether text in photos is read where their metadata is, to be searched "
        "(photos.md#text-in-photos); it needs the extra `ocr`.",
    )
    agents_write: bool = Field(
        default=False,
        description="Whether agents whose key may write get the tools that add, change and delete "
        "items (integration.md#agents).",
    )
    fetch: bool = Field(
        default=False,
        description="Whether clients may name photos by `image_url`, for the service to fetch from "
        "the public internet, not from this machine.",
    )
    webhooks: WebhookReach = Field(
        default="public",
        description="Where webhooks of collections may post: `public` for https:// on the public "
        "internet, `any` for http:// and private addresses as well, or `none` "
        "(operations.md#webhooks).",
    )
    log: Literal["json", "plain"] | None = Field(
        default=None,
        description="Shape of log records, `json` or `plain` (operations.md#logs); `plain` on a "
        "terminal, else `json` if not set.",
    )
    audit: Path | None = Field(
        default=None,
        description="File that gets a line of JSON for each change and each key "
        "(operations.md#audit); none if not set.",
    )
    log_queries: bool = Field(
        default=False, description="Log what people search for, in the line of each request."
    )
    events: bool = Field(
        default=False,
        description="Write searches by text, their hits and reported clicks into `events` of the "
        "data folder (operations.md#events).",
    )
    cors_origins: tuple[WebOrigin, ...] = Field(
        default=(),
        examples=[["https://a.b"]],
        description='Web origins that may call the API from a browser, as JSON: `["https://a.b"]`; '
        "with one, pages of any other site may show photos.",
    )

    keys: Path | None = Field(
        default=None,
        description="File of keys (operations.md#keys); `keys.jsonl` in the data folder if not "
        "set.",
    )
    read_key: SecretStr | None = Field(
        default=None, description="A key that may read, without a file; at least 32 characters."
    )
    write_key: SecretStr | None = Field(
        default=None, description="A key that may read and write; at least 32 characters."
    )
    admin_key: SecretStr | None = Field(
        default=None, description="A key that may do everything; at least 32 characters."
    )
    open: bool = Field(
        default=False, description="Serve without keys at an address that others can reach."
    )
    open_metrics: bool = Field(default=False, description="`/metrics` needs no key.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(),
        examples=[["photos.example"]],
        description="Names of this service besides `localhost` and addresses, as JSON; `*.a.b` and "
        "`*` match several.",
    )
    ssl_certfile: Path | None = Field(
        default=None, description="Certificate chain, as PEM, to serve HTTPS with."
    )
    ssl_keyfile: Path | None = Field(
        default=None,
        description="Key of the certificate, as PEM; in the certificate's file if not set.",
    )

    @model_validator(mode="before")
    @classmethod
    def take_chosen_model(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add the data folder's matcher, unless one is set."""
        if "matcher" in values:
            return values
        chosen = chosen_model.read(data := Path(values.get("data", DATA)))
        return values if chosen is None else values | {"matcher": data / chosen.matcher}

    @field_validator("ocr")
    @classmethod
    def _check_ocr(cls, ocr: bool) -> bool:
        """Raise ValueError without the extra for text."""
        if ocr and not visible_words.readable():
            raise ValueError(visible_words.MISSING)
        return ocr

    @property
    def keys_file(self) -> Path:
        """The path of the file of keys."""
        return self.keys or self.data / "keys.jsonl"

    @property
    def events_folder(self) -> Path | None:
        """The folder of events; None if none are written."""
        return self.data / "events" if self.events else None

    @property
    def log_style(self) -> Literal["json", "plain"]:
        """The shape of log records: the setting, or by the terminal."""
        return self.log or ("plain" if sys.stderr.isatty() else "json")

    @property
    def storage(self) -> Storage:
        """The storage of items; other processes may write to it."""
        return Storage(
            folder=self.data,
            database=self.database,
            pictures=self.pictures,
            wait=self.database_wait,
            item_text=self.text_bytes,
            shared=True,
            sweep_after=self.sweep_after,
            verify=self.verify_seconds,
        )

    @property
    def snapshot_folder(self) -> Path:
        """The folder of snapshots."""
        return self.snapshots or self.data / "snapshots"

    @property
    def together_bytes(self) -> int:
        """Most bytes of an item's image files together.

        At least those of the largest file.
        """
        return max(self.item_bytes, self.upload_bytes)

    @property
    def photo_limits(self) -> dict[str, int]:
        """The limits for `models.vision.images.read`."""
        return {"most_bytes": self.upload_bytes, "most_pixels": self.upload_pixels}
