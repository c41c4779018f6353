"""Which settings there are: the only reader of the environment, as TESSERA_NAME."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, PositiveFloat, PositiveInt
from pydantic_settings import BaseSettings, SettingsConfigDict

from index.storage import WAIT, Storage
from index.wording import Synonyms, parse_synonyms
from models.checkpoint import DEFAULT_CAPTIONER, DEFAULT_GROUNDER, DEFAULT_MATCHER
from models.photo_files import MOST_BYTES, MOST_PIXELS

DEFAULT_COLLECTION = "default"


class Settings(BaseSettings):
    """How this installation runs; every field can be set as TESSERA_ and its name."""

    model_config = SettingsConfigDict(env_prefix="TESSERA_", frozen=True)

    data: Path = Field(default=Path(".tessera"), description="Folder of the catalog and its index.")
    database: str = Field(
        default="",
        repr=False,
        description="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME; SQLite in the data "
        "folder if not set.",
    )
    database_wait: PositiveFloat = Field(
        default=WAIT, description="Seconds to wait for the database's locks; 503 beyond."
    )
    pictures: str = Field(
        default="",
        description="Folder of the display copies, or s3://BUCKET/PATH; in the data folder if not "
        "set.",
    )
    snapshots: Path | None = Field(
        default=None, description="Folder of snapshots; `snapshots` in the data folder if not set."
    )
    matcher: Path = Field(default=DEFAULT_MATCHER, description="Checkpoint that embeds and scores.")
    captioner: Path | None = Field(
        default=DEFAULT_CAPTIONER,
        description="Checkpoint that writes captions; none if the file is absent.",
    )
    grounder: Path | None = Field(
        default=DEFAULT_GROUNDER,
        description="Checkpoint that finds phrases in photos; none if the file is absent.",
    )
    parser: str | None = Field(
        default=None,
        description="spaCy pipeline, a package's name or a folder; the one that ships if not set.",
    )
    synonyms: Path | None = Field(
        default=None,
        description="File of words that product search takes for each other: a line such as "
        "sofa, couch, settee.",
    )
    device: str = Field(default="cpu", description="Where models run: cpu, cuda, cuda:1.")
    threads: PositiveInt | None = Field(
        default=None, description="Processor threads of one inference; all cores if not set."
    )
    host: str = Field(
        default="127.0.0.1", description="Address to listen at; 0.0.0.0 opens it to others."
    )
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen at; 0 takes a free one."
    )
    workers: PositiveInt = Field(
        default=1, description="Processes that serve; each loads the models."
    )
    upload_bytes: PositiveInt = Field(
        default=MOST_BYTES, description="Largest image file, in bytes."
    )
    upload_pixels: PositiveInt = Field(
        default=MOST_PIXELS,
        description="Largest image, width × height, checked before it is decoded.",
    )
    decode_seconds: PositiveInt = Field(
        default=20, description="Longest time that the decoding of one image may take."
    )
    decode_memory: PositiveInt = Field(
        default=2**30,
        description="Most memory that a process that decodes images may take, in bytes.",
    )
    text_bytes: PositiveInt = Field(
        default=2**20, description="Largest JSON body, and largest form around an image, in bytes."
    )
    running: PositiveInt = Field(
        default=2,
        description="Text searches that compute at the same time; as many requests with photos.",
    )
    waiting: int = Field(
        default=32, ge=0, description="Text searches that may wait for their turn; 503 beyond."
    )
    photos_waiting: int = Field(
        default=32, ge=0, description="Requests with photos that may wait; 503 beyond."
    )
    imports: PositiveInt = Field(
        default=64, description="Imports that may be under way, taking turns; 503 beyond."
    )
    patience: PositiveInt = Field(
        default=30, description="Seconds that a request may wait for its turn; 503 beyond."
    )
    idle_seconds: PositiveInt = Field(
        default=20, description="Seconds that a client may leave the service waiting; 408 beyond."
    )
    body_seconds: PositiveInt = Field(
        default=120, description="Seconds that a body may take, except an import's; 408 beyond."
    )
    batch: PositiveInt = Field(
        default=16, description="Items embedded and stored together in an import."
    )
    cors_origins: tuple[str, ...] = Field(
        default=(),
        description='Web origins that may call the API from a browser, as JSON: ["https://a.b"].',
    )

    @property
    def storage(self) -> Storage:
        """Where items are kept; other processes may write what ours must find at once."""
        return Storage(
            folder=self.data,
            database=self.database,
            pictures=self.pictures,
            wait=self.database_wait,
            shared=self.workers > 1 or self.database.startswith("postgres"),
        )

    @property
    def snapshot_folder(self) -> Path:
        """Where snapshots are kept."""
        return self.snapshots or self.data / "snapshots"

    def read_synonyms(self) -> Synonyms | None:
        """What the file of synonyms says, if there is one; OSError where it cannot be read."""
        if self.synonyms is None:
            return None
        return parse_synonyms(self.synonyms.read_text("utf-8").splitlines())

    @property
    def photo_limits(self) -> dict[str, int]:
        """What models.images.read takes as its limits."""
        return {"most_bytes": self.upload_bytes, "most_pixels": self.upload_pixels}
