"""Images in chat replies, wherever gateways put them."""

import base64
from typing import Any

import pytest

from ...servers.openai_server import openai_server
from .asking import BOTH
from .asking import IMAGE
from .asking import backend
from .asking import failure
from .asking import gave
from .asking import picture
from .chat_replies import MADE
from .chat_replies import URL
from .chat_replies import saying


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Here.", "images": [{"type": "image_url", "image_url": {"url": URL}}]},
        {"content": "Here.", "images": [URL]},
        {"content": [{"type": "text", "text": "Here."}, {"type": "image_url", "image_url": {"url": URL}}]},
        {"content": [{"type": "text", "text": "Here."}, {"type": "image", "image": URL}]},
        {"content": [{"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": URL.partition(",")[2]}}]},
        {
            "content": f"Here.\n![image]({URL})",
            "multi_mod_content": [{"text": "Here."}, {"inline_data": {"data": URL.partition(",")[2]}}],
        },
        {"content": f"Here.\n\n![the image]({URL})"},
        {"content": f"Here. {URL}"},
    ],
)
def test_where_a_reply_may_have_its_image(message: dict[str, Any]) -> None:
    with openai_server(replies=saying(**message)) as server:
        found = gave(backend("openai-chat", server.url), images=(picture(),), wants=BOTH)
        (body,) = server.bodies.values()
    assert (found.text, found.image) == ("Here.", MADE)
    assert found.usage.produced == 1
    assert body["modalities"] == ["image", "text"]


@pytest.mark.parametrize("text", ["Here: ![i]({}) done", "{}"])
def test_image_at_a_url(text: str) -> None:
    with openai_server() as files, openai_server() as server:
        url = files._publish(MADE)
        server.replies = saying(content=text.format(url))
        host = url.split("/")[2]
        assert gave(backend("openai-chat", server.url, hosts=[host]), wants=IMAGE).image == MADE
        refused = failure(backend("openai-chat", server.url), wants=IMAGE)
    assert refused.kind == "url_refused"
    assert "the system's file allows hosts: none" in refused.message


def test_first_of_several_images() -> None:
    other = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    with openai_server(replies=saying(content="", images=[URL, other])) as server:
        found = gave(backend("openai-chat", server.url), wants=IMAGE)
    assert (found.text, found.image, found.meta, found.usage.produced) == (None, MADE, {"images": 2}, 2)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"content": "I'm sorry, but I can't help with generating that image."}, "refusal"),
        ({"content": "A grey lung with a nodule."}, "no_image"),
        ({"content": ""}, "no_image"),
        ({"content": "", "images": ["data:image/png;base64,PGh0bWw+bm8="]}, "not_an_image"),
        ({"content": "", "images": ["data:image/png;base64,!!!"]}, "not_an_image"),
    ],
)
def test_a_reply_without_an_image_is_a_failure(message: dict[str, Any], kind: str) -> None:
    with openai_server(replies=saying(**message)) as server:
        assert failure(backend("openai-chat", server.url), wants=BOTH).kind == kind
        assert len(server.log) == 1
