import base64
import io

import pytest
from PIL import Image

from medgen_metrics.serving.faults import CallFailed
from medgen_scripts.backends import pictures

from ...builders import encoded
from .asking import picture
from .asking import pixels


@pytest.mark.parametrize(
    ("form", "kind"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("TIFF", "image/tiff")]
)
def test_media_type_by_content(form: str, kind: str) -> None:
    assert pictures.media_type(picture(form=form)) == kind


@pytest.mark.parametrize("data", [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image(data: bytes) -> None:
    assert pictures.media_type(data) is None
    with pytest.raises(CallFailed, match="not_an_image"):
        pictures.checked(data)


def test_what_is_sent() -> None:
    for form in ("PNG", "JPEG", "WEBP"):
        assert pictures.as_sent(picture(form=form))[0] == picture(form=form)
    sent, kind = pictures.as_sent(picture(form="TIFF"))
    assert (kind, pictures.media_type(sent)) == ("image/png", "image/png")
    assert pixels(sent).tobytes() == pixels(picture()).tobytes()


def test_what_servers_may_see_otherwise_goes_as_metrics_see_it() -> None:
    turned = pixels(picture()).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    assert pixels(pictures.as_sent(encoded(turned, "PNG", exif=exif))[0]).tobytes() == pixels(picture()).tobytes()
    for image, form in ((pixels(picture()).convert("CMYK"), "JPEG"), (Image.new("I;16", (4, 4), 40000), "PNG")):
        sent, kind = pictures.as_sent(encoded(image, form))
        with Image.open(io.BytesIO(sent)) as found:
            assert (kind, found.mode) == ("image/png", "RGB")


@pytest.mark.parametrize(
    "text",
    [
        "{}", "data:image/png;base64,{}", " {}\n",
    ],
)  # fmt: skip
def test_base64(text: str) -> None:
    data = picture((7, 5))
    encoded = base64.b64encode(data).decode()
    assert pictures.of_base64(text.format(encoded)) == data
    lines = "\n".join(encoded[place : place + 76] for place in range(0, len(encoded), 76))
    assert pictures.of_base64(text.format(lines.rstrip("="))) == data


@pytest.mark.parametrize("text", ["", "====", "no base64 at all!", "data:image/png;base64,", "aGVsbG8="])
def test_base64_of_no_image(text: str) -> None:
    with pytest.raises(CallFailed, match="not_an_image"):
        pictures.of_base64(text)
