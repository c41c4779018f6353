"""Videos: some key frames as photos, and the tags of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from models import extras
from models.vision.formats.kinds import HEAD, demuxer_of
from models.vision.photo_decoding import Decoded, ImageError, ImageTooLarge, NotAnImage, Pixels
from models.vision.upright import BROKEN

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

MOST_FRAMES = 12  # of a video
APART = 2.0  # seconds between two frames, at least
MISSING = f"videos are read with an extra: {extras.install('video')}"
MARGIN = 0.02  # of the duration, at which the first and last frame are: many begin and end black


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A photo of a video, its second from the start, and its rotation."""

    photo: Decoded
    second: float
    rotation: int = 0  # degrees to the left, by which it was turned upright


@dataclass(frozen=True, slots=True)
class Video:
    """Frames of a video, its upright size, its duration and its tags."""

    frames: tuple[VideoFrame, ...]
    width: int
    height: int
    duration: float
    tags: Mapping[str, str]


def readable() -> bool:
    """Return whether the extra for videos is installed."""
    return find_spec("av") is not None


def read_video(file: BinaryIO, most_pixels: int, longest: int, most: int = MOST_FRAMES) -> Video:
    """Read at most `most` key frames of a video, evenly spread.

    Raises ImageTooLarge, NotAnImage without the extra, and ImageError for a broken file.
    """
    if not readable():
        raise NotAnImage(MISSING)
    import av  # an extra

    demuxer = demuxer_of(file.read(HEAD))
    file.seek(0)
    try:
        with av.open(file, "r", format=demuxer, metadata_errors="replace") as container:
            return _read(container, most_pixels, longest, most)
    except MemoryError as short:
        raise ImageTooLarge("the video takes more memory than there is; scale it down") from short
    except ImageError:
        raise
    except (av.FFmpegError, *BROKEN) as broken:
        raise ImageError(
            f"the video is broken or of an unknown coding ({_reason_of(broken)}); save it as "
            "H.264 in .mp4"
        ) from broken


def _reason_of(broken: Exception) -> str:
    """Return an error's reason without the file's path."""
    return str(getattr(broken, "strerror", None) or broken)


def _read(container: InputContainer, most_pixels: int, longest: int, most: int) -> Video:
    stream = next(iter(container.streams.video), None)
    if stream is None:
        raise ImageError("the file has no pictures, only sound; send a video or a photo")
    width, height = stream.codec_context.width, stream.codec_context.height
    if width * height > most_pixels:
        raise ImageTooLarge(
            f"the video has {width:,} × {height:,} pixels; at most {most_pixels:,} are read: "
            "scale it down"
        )
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    stream.codec_context.skip_frame = "NONKEY"
    duration = _duration(container, stream)
    frames = list(_read_frames(container, stream, _choose_seconds(duration, most), longest))
    if not frames:
        raise ImageError("no frame of the video can be decoded; save it as H.264 in .mp4")
    sides = (height, width) if frames[0].rotation % 180 else (width, height)
    return Video(tuple(frames), *sides, duration, _read_tags(container, stream))


def _duration(container: InputContainer, stream: VideoStream) -> float:
    if stream.duration and stream.time_base:
        return max(0.0, float(stream.duration * stream.time_base))
    return max(0.0, (container.duration or 0) / 1_000_000)


def _choose_seconds(duration: float, most: int) -> list[float]:
    """Choose seconds at equal distances, the more the longer the video."""
    count = max(1, min(most, int(duration / APART)))
    margin = duration * MARGIN
    if count == 1:
        return [margin]
    return [margin + (duration - 2 * margin) * at / (count - 1) for at in range(count)]


def _read_frames(
    container: InputContainer, stream: VideoStream, seconds: list[float], longest: int
) -> Iterator[VideoFrame]:
    """Yield the key frames before these seconds, each once."""
    base = stream.time_base or Fraction(1, 1)
    start, last = stream.start_time or 0, None
    for second in seconds:
        frame = _seek(container, stream, start + round(second / base))
        if frame is None or frame.pts == last:
            continue
        last = frame.pts
        at = float(((frame.pts or start) - start) * base)
        rotation = round(frame.rotation / 90) * 90
        pixels = _upright(frame, rotation, longest)
        yield VideoFrame(Decoded(pixels), round(max(0.0, at), 2), rotation)


def _seek(container: InputContainer, stream: VideoStream, at: int) -> av.VideoFrame | None:
    """Decode the key frame before a time; None without one."""
    import av  # an extra

    with suppress(av.FFmpegError):
        container.seek(at, stream=stream)
    with suppress(av.FFmpegError):
        return next(container.decode(stream), None)
    return None


def _upright(frame: av.VideoFrame, rotation: int, longest: int) -> Pixels:
    scale = min(1.0, longest / max(frame.width, frame.height))
    width, height = (max(1, round(side * scale)) for side in (frame.width, frame.height))
    small = frame.to_image(width=width, height=height)  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(np.rot90(np.array(small.convert("RGB")), rotation // 90))


def _read_tags(container: InputContainer, stream: VideoStream) -> dict[str, str]:
    """Return the tags of the file, and those of the stream."""
    tags = {**stream.metadata, **container.metadata}
    return {str(key).lower(): str(value) for key, value in tags.items()}
