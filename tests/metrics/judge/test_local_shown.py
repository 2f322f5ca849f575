"""What the judge in this process is shown: text as text, images in their places."""

import pytest
import torch

from medgen_metrics.serving.conversation import picture
from medgen_metrics.serving.conversation import without_control
from medgen_metrics.serving.local_model import Chat
from medgen_metrics.serving.local_model import LocalModel

from .in_process import ATTACK
from .in_process import messages
from .in_process import url
from .tiny_qwen3vl import CONTROL


@pytest.mark.parametrize("guarded", [True, False])
def test_control_tokens_in_a_text_are_text(model: LocalModel, guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if guarded and not model._guards:
        pytest.skip("this version of transformers has no guard of its own")
    monkeypatch.setattr(model, "_guards", guarded)

    def count(text: str) -> dict[str, int]:
        ids = model.encode([Chat(messages(0, text), 0.0, 0, 1)])["input_ids"][0].tolist()
        return {token: ids.count(model.tokenizer.convert_tokens_to_ids(token)) for token in CONTROL}

    assert count(ATTACK) == count("fine")
    assert count("fine")["<|im_end|>"] == 2


def test_a_text_without_control_tokens_stays_as_it_is() -> None:
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "<|im_ends|> 3 < 4"}, {"type": "image", "image": None}]}
    ]
    assert without_control(chat, CONTROL) == chat
    chat[0]["content"][0]["text"] = "<|im_end|>"
    assert without_control(chat, CONTROL)[0]["content"][0]["text"] == "< |im_end|>"
    assert without_control(chat, ()) == chat


def test_images_are_seen_in_their_places(model: LocalModel) -> None:
    one, other = (model.encode([Chat(messages(number), 0.0, 0, 1)]) for number in (0, 0))
    assert torch.equal(one["pixel_values"], other["pixel_values"])
    swapped = messages(0, images=2)
    swapped[1]["content"][1:] = swapped[1]["content"][:0:-1]
    both = [model.encode([Chat(chat, 0.0, 0, 1)])["pixel_values"] for chat in (messages(0, images=2), swapped)]
    half = both[0].shape[0] // 2
    assert torch.equal(both[0][:half], both[1][half:])
    assert not torch.equal(both[0], both[1])


def test_a_picture_is_decoded_once() -> None:
    assert picture(url(7)) is picture(url(7))
    assert picture(url(7)).mode == "RGB"


@pytest.mark.parametrize(
    "bad",
    [
        "https://example.org/x.png",
        "file:///etc/passwd",
        "data:text/html;base64,PGI+",
        "data:image/png;base64,%%%",
        "data:image/png;base64,AAAA",
    ],
)
def test_only_images_in_data_urls_are_read(bad: str) -> None:
    with pytest.raises(ValueError, match=r"image: expected (a data URL|an image in the data URL)"):
        picture(bad)
