"""What requests to model servers consumed: counts, tokens, bytes and, where prices are known, dollars."""

import base64
import io
import math
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import fields
from typing import Any

# Patches of 28 x 28 pixels, the finest that a common judge (Qwen2-VL's) makes of an image: others bill fewer tokens.
PATCH = 28
# English runs at about 4 bytes a token; 3 keeps an estimate on the safe side.
BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or several requests consumed; usages add up.

    Attributes:
        requests: requests that were sent, failed ones too.
        prompt_tokens: as the server says.
        completion_tokens: as the server says.
        images: images sent.
        bytes: size of the messages sent, images in their base64 form included.
        cost: dollars; None where no price is known.
        produced: images that the server made.
        unreported: requests whose reply said nothing of tokens; those above leave them out.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    images: int = 0
    bytes: int = 0
    cost: float | None = None
    produced: int = 0
    unreported: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """The sum; its cost is unknown where a part with requests has none."""
        counts = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name != "cost"
        }
        known = [part.cost for part in (self, other) if part.requests or part.cost is not None]
        costs = [cost for cost in known if cost is not None]
        return Usage(**counts, cost=sum(costs) if costs and len(costs) == len(known) else None)

    def as_dict(self) -> dict[str, Any]:
        """Field name -> value, for records and reports."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Usage":
        """What `as_dict` gave, as far as it holds numbers: a file of others' may hold anything."""
        known = {field.name: told[field.name] for field in fields(cls) if field.name in told}
        numbers = {name: value for name, value in known.items() if isinstance(value, int | float)}
        finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
        counts = {name: int(value) for name, value in finite.items() if name != "cost"}
        return cls(**counts, cost=finite.get("cost"))


def estimate(messages: Sequence[Mapping[str, Any]], max_tokens: int) -> Usage:
    """What one chat request will consume at most, before it is sent.

    Text counts a token for every `BYTES_A_TOKEN` bytes, an image one for every patch of `PATCH` x `PATCH` pixels, the
    reply as long as it may get.

    Args:
        messages: OpenAI chat messages; images as data URLs.
        max_tokens: the reply's limit.

    Raises:
        ValueError: an image part that isn't a base64 data URL of an image.
    """
    images, size = measure(messages)
    tokens = 0
    for kind, value in _parts(messages):
        tokens += _image_tokens(value) if kind == "image" else math.ceil(_size(value) / BYTES_A_TOKEN)
    return Usage(requests=1, prompt_tokens=tokens, completion_tokens=max_tokens, images=images, bytes=size)


def measure(messages: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Images and bytes of chat messages, without looking into the images."""
    images = size = 0
    for kind, value in _parts(messages):
        images += kind == "image"
        # data URLs are ASCII
        size += len(value) if kind == "image" else _size(value)
    return images, size


def _parts(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, str):
            yield "text", content
            continue
        for part in content:
            if part["type"] == "image_url":
                yield "image", part["image_url"]["url"]
            elif part["type"] == "text":
                yield "text", part["text"]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _image_tokens(url: str) -> int:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise ValueError(f"image part: expected a base64 data URL, got {url[:40]!r}")
    try:
        return image_tokens(base64.b64decode(data))
    except ValueError as error:
        raise ValueError(f"image part: expected an image in its data URL, got {url[:40]!r} ({error})") from error


def prompt_tokens(text: str, images: Iterable[bytes]) -> int:
    """What a prompt counts in an estimate, its parts as in `estimate`.

    Args:
        text: all of it.
        images: encoded files.

    Raises:
        ValueError: one that is no image.
    """
    return math.ceil(_size(text) / BYTES_A_TOKEN) + sum(map(image_tokens, images))


def image_tokens(data: bytes) -> int:
    """What an image counts in an estimate.

    Args:
        data: an encoded file.

    Raises:
        ValueError: no image.
    """
    from PIL import Image
    from PIL import UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
    except UnidentifiedImageError as error:
        raise ValueError(str(error)) from error
    return math.ceil(width / PATCH) * math.ceil(height / PATCH)
