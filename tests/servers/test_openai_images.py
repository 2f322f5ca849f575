"""The loopback model server's images, asked for through the real `openai` client."""

import base64
from io import BytesIO
from typing import Any

import openai
import pytest
import requests
from PIL import Image

from .openai_client import client
from .openai_client import png
from .openai_server import openai_server


def opened(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


def test_images_are_generated() -> None:
    with openai_server() as server:
        made = client(server).images.generate(model="dall-e-3", prompt="a chest", size="256x128", n=2)
        assert made.data is not None
        sizes = [opened(requests.get(str(image.url), timeout=5).content).size for image in made.data]
        assert sizes == [(256, 128)] * 2
        again = client(server).images.generate(model="gpt-image-1", prompt="a chest", size="auto").data
        assert again is not None
        assert opened(base64.b64decode(again[0].b64_json or "")).mode == "RGB"
        assert requests.get(server.url.replace("/v1", "/files/none.png"), timeout=5).status_code == 404


def test_images_are_edited_from_the_real_input() -> None:
    with openai_server(plan=[None, None, "unchanged", "not_an_image", "refusal", "empty"]) as server:
        edit = client(server).images.edit
        given: dict[str, Any] = {"model": "gpt-image-1", "image": ("a.png", png(), "image/png"), "prompt": "invert"}

        def data(**more: Any) -> bytes:
            found = edit(**{**given, **more}).data
            assert found
            return base64.b64decode(found[0].b64_json or "")

        assert opened(data()).getpixel((0, 0)) == (215, 255, 55)
        assert opened(data(image=[png(), png((8, 8))], size="32x16")).size == (32, 16)
        assert data() == png()
        with pytest.raises(OSError):
            opened(data())
        with pytest.raises(openai.BadRequestError, match="safety system"):
            data()
        assert edit(**given).data == []
        assert [len(seen.images) for seen in server.log] == [1, 2, 1, 1, 1, 1]
        for change, expected in (
            ({"image": ("a.png", b"none", "image/png")}, "not an image"),
            ({"mask": ("m.png", png((3, 3)), "image/png")}, "size of the first image"),
            ({"response_format": "b64_json"}, "unknown parameter"),
            ({"size": "big"}, "'size'"),
        ):
            with pytest.raises(openai.BadRequestError, match=expected):
                edit(**{**given, **change})
