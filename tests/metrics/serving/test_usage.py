import base64
import io

import pytest
from PIL import Image

from medgen_metrics.serving.usage import Usage
from medgen_metrics.serving.usage import estimate
from medgen_metrics.serving.usage import measure
from medgen_metrics.serving.usage import prompt_tokens


def picture(width: int, height: int, kind: str = "png") -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, kind)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def chat(text: str, *pictures: str) -> list[dict[str, object]]:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
    return [{"role": "system", "content": "abc"}, {"role": "user", "content": [{"type": "text", "text": text}, *parts]}]


def test_sum() -> None:
    parts = [Usage(1, 10, 2, 1, 100, 0.5), Usage(2, 5, 1, 0, 50, 0.25, 1, 1)]
    assert sum(parts, Usage()) == Usage(3, 15, 3, 1, 150, 0.75, 1, 1)


def test_sum_with_an_unknown_cost_is_unknown() -> None:
    assert (Usage(requests=1, cost=0.5) + Usage(requests=1)).cost is None
    assert (Usage() + Usage()).cost is None
    assert (Usage() + Usage(requests=1, cost=0.0)).cost == 0.0


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_estimate_by_the_size_of_pictures(kind: str) -> None:
    urls = [picture(1024, 768, kind), picture(57, 28, kind)]
    most = estimate(chat("é" * 30, *urls), 500)
    assert most.prompt_tokens == 1 + 20 + 37 * 28 + 3 * 1
    assert (most.completion_tokens, most.images, most.requests) == (500, 2, 1)
    assert most.bytes == 3 + 60 + sum(map(len, urls))
    assert measure(chat("é" * 30, *urls)) == (most.images, most.bytes)


def test_a_prompt_counts_as_in_a_chat() -> None:
    urls = [picture(1024, 768), picture(57, 28)]
    files = [base64.b64decode(url.partition(",")[2]) for url in urls]
    assert prompt_tokens("é" * 31, files) == 21 + 37 * 28 + 3 * 1
    assert prompt_tokens("é" * 31, files) + 1 == estimate(chat("é" * 31, *urls), 0).prompt_tokens


@pytest.mark.parametrize("url", ["http://elsewhere/a.png", "data:image/png,abc", "data:image/png;base64,AAAA"])
def test_picture_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match=r"image part: expected .*, got '"):
        estimate(chat("a", url), 1)


def test_as_dict_holds_every_field() -> None:
    assert Usage(**Usage(1, 2, 3, 4, 5, 0.5, 6, 7).as_dict()) == Usage(1, 2, 3, 4, 5, 0.5, 6, 7)
