"""Intake of one image: whatever a system or a record gives, read, set upright, alpha dropped.

A bad image is a reason (`Unscored`), never a traceback; a value of a wrong Python type is the caller's mistake and an
error that names its position.
"""

import io
import os
import stat
import struct
import sys
from collections.abc import Sequence
from typing import Any
from typing import BinaryIO
from typing import NamedTuple

import numpy as np
from PIL import ExifTags
from PIL import Image
from PIL import ImageOps

from .failures import Unscored
from .failures import is_error_text

MAX_PIXELS = 89_478_485
"""The most pixels of one image: `PIL.Image.MAX_IMAGE_PIXELS`, over which Pillow warns of a decompression bomb (256 MB
of RGB); it refuses from twice as many on."""

# Raster formats only: others are never what a system is asked for, and some run programs (EPS) when they are read.
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM", "JPEG2000")

_ACCEPTED = "a PIL image, a path, bytes, a uint8 or float array (HxW, HxWx1, HxWx3, HxWx4), a CHW tensor, or None"
ROUNDING = 1e-4  # how far a float may lie outside [0, 1]: single-precision arithmetic, not another range
_GREY_DEPTH = {"F": "float", "I": "32-bit integer"}


class Picture(NamedTuple):
    """One image as it was read, upright, alpha dropped.

    Attributes:
        image: RGB, 8 bits a channel; None for a deep grey image, which needs a map.
        levels: grey levels [height, width] of a deep image in their own units; None otherwise.
        depth: `8-bit`, `16-bit`, `16-bit colour`, `32-bit integer` or `float`.
        several: whether it was the first of several images.
    """

    image: Image.Image | None
    levels: np.ndarray | None
    depth: str
    several: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        if self.image is not None:
            return self.image.size
        assert self.levels is not None
        return self.levels.shape[1], self.levels.shape[0]


def check_type(source: Any, where: str) -> None:
    """Whether `source` is of a type that `read` takes.

    Args:
        source: what was given as an image.
        where: its position, for the message, e.g. `predictions[3]`.

    Raises:
        TypeError: it is not; the message says where, what was expected and what was got.
    """
    if isinstance(source, list | tuple):
        for index, item in enumerate(source):
            check_type(item, f"{where}[{index}]")
        return
    if source is None or isinstance(source, str | os.PathLike | bytes | bytearray | Image.Image):
        return
    if isinstance(source, np.ndarray):
        _check_array(source.dtype.name, source.shape, _is_hwc(source.shape), where)
    elif _is_tensor(source):
        shape = tuple(source.shape)
        _check_array(str(source.dtype).removeprefix("torch."), shape, _is_hwc(shape[1:] + shape[:1]), where)
    else:
        raise TypeError(f"{where}: expected {_ACCEPTED}; got {type(source).__name__}")


def read(source: Any, where: str = "image") -> Picture:
    """Read one image.

    Args:
        source: a PIL image, a path, an encoded file's bytes, a uint8 or float array [height, width(, 1|3|4)], a tensor
            [1|3|4, height, width] or [height, width]; floats in [0, 1]. A list is several images, of which the first
            counts. None is no image.
        where: its position, for messages.

    Raises:
        Unscored: `missing`, `unreadable`, `not_an_image`, `too_large` or `error_text`.
        TypeError: another type.
        ValueError: floats outside [0, 1].
    """
    check_type(source, where)
    if isinstance(source, list | tuple):
        if not source:
            raise Unscored("missing", "an empty list")
        return read(source[0], f"{where}[0]")._replace(several=len(source) > 1)
    if source is None:
        raise Unscored("missing")
    if isinstance(source, np.ndarray):
        return _from_array(source, where)
    if _is_tensor(source):
        pixels = source.detach().cpu()
        # numpy has no bfloat16
        pixels = (pixels.float() if pixels.is_floating_point() else pixels).numpy()
        return _from_array(np.moveaxis(pixels, 0, -1) if pixels.ndim == 3 else pixels, where)
    try:
        if isinstance(source, Image.Image):
            return _from_pil(source)
        if isinstance(source, bytes | bytearray):
            return _from_file(io.BytesIO(source))
        with _open(source) as file:
            return _from_file(file)
    except Unscored:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise Unscored("too_large", str(error)) from error
    except Exception as error:  # Pillow's readers raise whatever their parsing meets
        raise Unscored("unreadable", f"{type(error).__name__}: {error}") from error


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would wait for its writer
            raise PermissionError(f"{os.fspath(path)!r} is not a file")
        return open(path, "rb")
    except PermissionError:
        raise
    except (OSError, ValueError) as error:  # a name too long or with a null byte names no file either
        name = str(path)
        # a failed call's message where a path belongs
        reason = "error_text" if is_error_text(name) else "missing"
        raise Unscored(reason, f"no file {name!r:.200}") from error


def _from_file(file: BinaryIO) -> Picture:
    try:
        image = Image.open(file, formats=FORMATS)
    except Image.UnidentifiedImageError as error:
        file.seek(0)
        opening = file.read(16)
        if not opening:
            raise Unscored("unreadable", "an empty file") from error
        if _is_image(opening):
            raise Unscored("unreadable", "its header is damaged") from error
        raise Unscored("not_an_image", f"expected {', '.join(FORMATS)}; it begins with {opening!r}") from error
    return _from_pil(image)


def _is_image(opening: bytes) -> bool:
    """Whether a file that can't be opened begins like one of `FORMATS`."""
    for name in FORMATS:
        accept = Image.OPEN[name][1] if name in Image.OPEN else None
        if accept is not None and accept(opening.ljust(16, b"\0")) is True:
            return True
    return False


def _from_pil(image: Image.Image) -> Picture:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise Unscored("too_large", f"{width}x{height} pixels; expected at most {MAX_PIXELS:,}")
    if not width * height:
        raise Unscored("unreadable", f"{width}x{height}: no pixels")
    # Pillow reads 16-bit colour at its high byte; once it is loaded nothing tells.
    is_16_bit = any(";16" in str(tile[3]) for tile in getattr(image, "tile", []))
    several = _is_of_several(image)
    image.load()
    image = _upright(image)
    if image.mode in ("F", "I") or image.mode.startswith("I;16"):
        depth = _GREY_DEPTH.get(image.mode, "16-bit")
        # PPM and, in older Pillow, PNG of 16 bits are opened as 32-bit integers.
        if image.mode == "I" and image.format in ("PNG", "PPM"):
            depth = "16-bit"
        levels = np.asarray(image).astype(np.float64)
        if not np.isfinite(levels).all():
            raise Unscored("unreadable", "not all values are finite")
        return Picture(None, levels, depth, several)
    return Picture(_rgb(image), None, "16-bit colour" if is_16_bit else "8-bit", several)


def _is_of_several(image: Image.Image) -> bool:
    # Of a loaded image only a known number is taken: counting would seek, and so undo what was painted on it.
    if getattr(image, "tile", []) or "n_frames" in vars(image):
        return bool(getattr(image, "n_frames", 1) > 1)
    return False


def _upright(image: Image.Image) -> Image.Image:
    try:
        turned = image.getexif().get(ExifTags.Base.Orientation, 1) != 1
    except (SyntaxError, struct.error, ValueError, TypeError, OSError, KeyError):
        return image  # a broken EXIF block declares no orientation
    return ImageOps.exif_transpose(image) if turned else image


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        # an image of a file would look there again, in whichever thread it is used
        return image if type(image) is Image.Image else image.copy()
    if image.mode in ("La", "RGBa"):
        image = image.convert({"La": "LA", "RGBa": "RGBA"}[image.mode])
    if "transparency" in image.info:
        # dropped like any alpha, and before Pillow warns about it
        image = image.copy()
        del image.info["transparency"]
    return image.convert("RGB")


def _is_tensor(source: Any) -> bool:
    # While another thread imports torch it is there without its names.
    return isinstance(source, getattr(sys.modules.get("torch"), "Tensor", ()))


def _is_hwc(shape: Sequence[int]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))


def _check_array(dtype: str, shape: Sequence[int], is_shape_right: bool, where: str) -> None:
    if not dtype.startswith(("uint8", "float", "bfloat")) or not is_shape_right:
        layout = "arrays are HxW or HxWxC, tensors HxW or CxHxW, C 1, 3 or 4, of uint8 or of floats in [0, 1]"
        raise TypeError(f"{where}: {layout}; got {dtype} of shape {tuple(shape)}")


def _from_array(pixels: np.ndarray, where: str) -> Picture:
    height, width = pixels.shape[:2]
    if height * width > MAX_PIXELS:
        raise Unscored("too_large", f"{width}x{height} pixels; expected at most {MAX_PIXELS:,}")
    if not pixels.size:
        raise Unscored("unreadable", f"{width}x{height}: no pixels")
    if pixels.dtype != np.uint8:
        if not np.isfinite(pixels).all():
            raise Unscored("unreadable", "not all values are finite")
        low, high = float(pixels.min()), float(pixels.max())
        if low < -ROUNDING or high > 1 + ROUNDING:
            raise ValueError(f"{where}: expected floats in [0, 1]; got values from {low:.6g} to {high:.6g}")
        pixels = np.rint(np.clip(pixels.astype(np.float64), 0, 1) * 255).astype(np.uint8)
    if pixels.ndim == 3:
        pixels = pixels[..., 0] if pixels.shape[2] == 1 else pixels[..., :3]
    return Picture(Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB"), None, "8-bit")
