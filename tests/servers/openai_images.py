"""Image generation and editing as OpenAI's `images` endpoints speak it: JSON or multipart in, base64 or a URL out."""

import base64
import hashlib
import re
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from aiohttp import web

from .openai_requests import BadRequest
from .openai_requests import Picture
from .openai_requests import digest
from .openai_requests import read_json
from .openai_requests import read_picture

_SIZE = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})")
_SIDE = 64  # of a picture whose size is left to the server


@dataclass(frozen=True)
class ImageRequest:
    """A checked request.

    Attributes:
        body: its fields; files left out.
        digest: of the fields and the images.
        images: inputs of an edit, in order; none of a generation.
        mask: of an edit.
        size: (width, height) asked for; None left to the server.
        earlier: number of earlier requests with the same digest.
    """

    body: Mapping[str, Any]
    digest: str
    prompt: str
    images: tuple[Picture, ...]
    mask: Picture | None
    size: tuple[int, int] | None
    earlier: int = 0


async def read(request: web.Request) -> ImageRequest:
    """Read a request to `generations` (JSON) or `edits` (multipart).

    Raises:
        BadRequest: no model or prompt, an image missing or undecodable, an unknown size or response format.
    """
    if request.path.endswith("/generations"):
        return _checked(read_json(await request.read()), (), None)
    if not request.content_type.startswith("multipart/"):
        raise BadRequest(f"expected multipart/form-data; got {request.content_type}")
    fields = await request.post()
    images: list[Picture] = []
    mask = None
    body: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, web.FileField):
            picture = read_picture(f"'{name}'", value.file.read(), value.content_type)
            if name in ("image", "image[]"):
                images.append(picture)
            elif name == "mask":
                mask = picture
            else:
                raise BadRequest(f"unknown file {name!r}")
        elif name in ("image", "image[]", "mask"):
            raise BadRequest(f"'{name}': expected a file; got text")
        else:
            body[name] = value
    if not images:
        raise BadRequest("'image': an edit needs the image to be edited")
    if mask is not None and (mask.width, mask.height) != (images[0].width, images[0].height):
        raise BadRequest("'mask': expected the size of the first image")
    return _checked(body, tuple(images), mask)


def _checked(body: Mapping[str, Any], images: tuple[Picture, ...], mask: Picture | None) -> ImageRequest:
    for name in ("model", "prompt"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise BadRequest(f"you must provide a {name} parameter")
    form = body.get("response_format")
    if form is not None and body["model"].startswith("gpt-image"):
        raise BadRequest("unknown parameter: 'response_format'")
    if form not in (None, "url", "b64_json"):
        raise BadRequest(f"'response_format': expected url or b64_json; got {form!r}")
    if not re.fullmatch(r"[1-9]|10", str(body.get("n", 1))):
        raise BadRequest(f"'n': expected a number from 1 to 10; got {body['n']!r}")
    asked = body.get("size")
    size = None
    if asked not in (None, "auto"):
        if (found := _SIZE.fullmatch(str(asked))) is None:
            raise BadRequest(f"'size': expected WIDTHxHEIGHT or auto; got {asked!r}")
        size = int(found[1]), int(found[2])
    seen = digest([sorted(body.items()), [each.digest for each in images], mask.digest if mask else None])
    return ImageRequest(body, seen, body["prompt"], images, mask, size)


def answer(
    asked: ImageRequest,
    kind: str | None,
    pictures: Callable[[ImageRequest], bytes | None] | None,
    publish: Callable[[bytes], str],
) -> dict[str, Any]:
    """The reply's JSON.

    Args:
        asked: the request.
        kind: a misbehaviour; those of text concern nothing here, but refusals and "empty" do.
        pictures: from a request to its picture's bytes; None for the server's own.
        publish: keeps a file and gives its URL.

    Raises:
        BadRequest: a refusal, which these endpoints send so.
    """
    if kind in ("refusal", "refusal_field", "content_filter"):
        raise BadRequest("Your request was rejected by the safety system.")
    data = []
    for index in range(0 if kind == "empty" else int(asked.body.get("n", 1))):
        picture = pictures(asked) if pictures is not None else None
        if picture is None:
            picture = drawn(asked.images, asked.size, f"{asked.digest}:{index}")
        if kind == "not_an_image":
            picture = b"<html>no image here</html>"
        elif kind == "unchanged" and asked.images:
            picture = asked.images[0].data or b""
        as_url = not asked.body["model"].startswith("gpt-image") and asked.body.get("response_format") != "b64_json"
        data.append({"url": publish(picture)} if as_url else {"b64_json": base64.b64encode(picture).decode()})
    usage = {"input_tokens": len(asked.prompt) // 4 + 85 * len(asked.images), "output_tokens": 272 * len(data)}
    return {"created": 0, "data": data, "usage": {**usage, "total_tokens": sum(usage.values())}}


def drawn(images: Sequence[Picture], size: tuple[int, int] | None, key: str) -> bytes:
    """A PNG: the first input inverted, or a gradient in a colour of the key's."""
    from PIL import Image
    from PIL import ImageOps

    if images:
        with Image.open(BytesIO(images[0].data or b"")) as given:
            picture = ImageOps.invert(given.convert("RGB"))
        picture = picture.resize(size) if size else picture
    else:
        colour = hashlib.sha256(key.encode()).digest()[:3]
        grey = Image.linear_gradient("L").resize(size or (_SIDE, _SIDE))
        picture = ImageOps.colorize(grey, (0, 0, 0), tuple(colour))
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
