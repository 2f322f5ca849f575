"""Views: the pictures cut from the source files. Tags stay behind, burned-in text is cropped, sides follow convention.

A view names its source and the steps that make it (decode, window, orientation, crop, size); every image of the sample
is a view or comes from one through `medgen_scripts.transforms`.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medgen_scripts.sample_records import sources
from medgen_scripts.transforms import volume


@dataclass(frozen=True)
class View:
    """A picture: which source file it is cut from, its modality, and how."""

    source: str
    modality: str
    how: str
    make: Callable[[Library], np.ndarray]


class Library:
    """Source files decoded on demand, and the views cut from them.

    Args:
        cache: folder of wheels, see `sources.read`.
    """

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._kept: dict[tuple[str, str], Any] = {}

    def _once(self, kind: str, key: str, read: Callable[[bytes], Any]) -> Any:
        if (kind, key) not in self._kept:
            self._kept[kind, key] = read(sources.read(sources.SOURCES[key], self.cache))
        return self._kept[kind, key]

    def dicom(self, key: str) -> Any:
        """The source as a pydicom data set."""
        import pydicom

        return self._once("dicom", key, lambda content: pydicom.dcmread(io.BytesIO(content), force=True))

    def picture(self, key: str) -> np.ndarray:
        """The source, a PNG, JPEG or tiled TIFF (its first page), as an array."""
        from PIL import Image

        return self._once("picture", key, lambda content: np.asarray(Image.open(io.BytesIO(content))))

    def volume(self, key: str) -> np.ndarray:
        """The source, a compressed NIfTI volume of 8-bit values with axis codes R, A, S, as an array."""
        import nibabel

        def read(content: bytes) -> np.ndarray:
            image = nibabel.Nifti1Image.from_bytes(gzip.decompress(content))
            if nibabel.aff2axcodes(image.affine) != ("R", "A", "S"):
                raise ValueError(f"{key}: expected axis codes R, A, S; got {nibabel.aff2axcodes(image.affine)}")
            return np.asarray(image.dataobj)

        return self._once("volume", key, read)

    def view(self, name: str) -> np.ndarray:
        """The view called `name`: uint8, H x W or H x W x 3."""
        if ("view", name) not in self._kept:
            self._kept["view", name] = np.ascontiguousarray(VIEWS[name].make(self))
        return self._kept["view", name]


def _window(values: np.ndarray, centre: float, width: float) -> np.ndarray:
    return np.clip(np.rint((values - (centre - width / 2)) * (255.0 / width)), 0, 255).astype(np.uint8)


def _crop(image: np.ndarray, left: int, top: int, right: int, bottom: int) -> np.ndarray:
    return image[top:bottom, left:right]


def _shrink(image: np.ndarray, factor: int) -> np.ndarray:
    """Means of blocks of `factor` x `factor` pixels, in integers: resampling code differs a little between releases."""
    height, width = image.shape[0] // factor, image.shape[1] // factor
    blocks = image.astype(np.int64).reshape(height, factor, width, factor, *image.shape[2:])
    return ((blocks.sum(axis=(1, 3)) + factor * factor // 2) // (factor * factor)).astype(np.uint8)


def _grey(image: np.ndarray) -> np.ndarray:
    if not (np.ptp(image, axis=2) == 0).all():
        raise ValueError("expected equal channels")
    return image[:, :, 0]


def _thorax(library: Library, centre: float, width: float) -> np.ndarray:
    data = library.dicom("ct-thorax")
    return _window(data.pixel_array * float(data.RescaleSlope) + float(data.RescaleIntercept), centre, width)


def _abdomen(library: Library) -> np.ndarray:
    # Stored with posterior up (ImageOrientationPatient 1\0\0\0\-1\0): turned upside down, left stays left.
    hounsfield = library.dicom("ct-abdomen").pixel_array[::-1].astype(np.float64)
    return _crop(_window(hounsfield, 40, 400), 76, 120, 452, 408)


def _perfusion(library: Library, frame: int) -> np.ndarray:
    data = library.dicom("ct-perfusion")
    stored = data.pixel_array[frame]
    first = 1024  # first value of the supplemental palette, from its descriptor
    palette = np.stack(
        [
            np.frombuffer(data[f"{colour}PaletteColorLookupTableData"].value, "<u2") >> 8
            for colour in ("Red", "Green", "Blue")
        ],
        axis=1,
    ).astype(np.uint8)
    coloured = palette[np.clip(stored.astype(np.int32) - first, 0, len(palette) - 1)]
    shown = np.where((stored >= first)[:, :, None], coloured, 0).astype(np.uint8)
    # Stored with the patient's left at the left (ImageOrientationPatient -1\0\0\0\1\0): mirrored to convention.
    return _crop(shown[:, ::-1], 112, 56, 464, 488)[::2, ::2]


def _liver(library: Library) -> np.ndarray:
    return _crop(_window(library.dicom("mr-liver").pixel_array.astype(np.float64), 450, 790), 14, 108, 446, 394)


def _shoulder(library: Library) -> np.ndarray:
    values = library.dicom("mr-shoulder").pixel_array.astype(np.float64)
    return _shrink(_crop(_window(values, 250, 500), 104, 112, 1004, 910), 3)


def _node(library: Library) -> np.ndarray:
    return _crop(library.dicom("us-node").pixel_array, 46, 109, 594, 334)


def _pelvis(library: Library, left: int, top: int, right: int, bottom: int) -> np.ndarray:
    from pydicom.pixels import apply_color_lut

    data = library.dicom("us-pelvis")
    shown = _grey(_crop((apply_color_lut(data.pixel_array, data) >> 8).astype(np.uint8), left, top, right, bottom))
    return _window(shown.astype(np.float64), 85, 170)


def _chest(library: Library) -> np.ndarray:
    # MONOCHROME1: low values are bright.
    values = 30000.0 - library.dicom("xr-chest").pixel_array.astype(np.float64)
    return _shrink(_crop(_window(values, 18500, 21000), 30, 60, 1790, 1900), 5)


def _leg(library: Library, centre: float, width: float) -> np.ndarray:
    # MONOCHROME1, and stored with the patient's right at the right, the side marker mirrored: both undone.
    values = 1023 - library.dicom("xr-leg").pixel_array.astype(np.float64)
    return _window(values, centre, width)[:, ::-1]


def _surface(key: str, side: str, threshold: int) -> Callable[[Library], np.ndarray]:
    return lambda library: volume.surface(library.volume(key), side, threshold)


def _grid(key: str, fractions: tuple[float, ...]) -> Callable[[Library], np.ndarray]:
    def make(library: Library) -> np.ndarray:
        whole = library.volume(key)
        sections = [volume.axial(whole, index) for index in volume.section_indices(whole, fractions)]
        return volume.labelled_grid(sections, [f"{round(100 * fraction)} %" for fraction in fractions])

    return make


def _axial(key: str, index: int) -> Callable[[Library], np.ndarray]:
    return lambda library: volume.axial(library.volume(key), index)


VIEWS = {
    "ct-spine-bone": View(
        "ct-thorax", "CT", "window center 300, width 1500 HU", lambda library: _thorax(library, 300, 1500)
    ),
    "ct-spine-soft": View(
        "ct-thorax", "CT", "window center 40, width 400 HU", lambda library: _thorax(library, 40, 400)
    ),
    "ct-abdomen": View(
        "ct-abdomen", "CT", "window center 40, width 400 HU; turned upright; cropped to 376 x 288", _abdomen
    ),
    "ct-flow-lower": View(
        "ct-perfusion",
        "CT",
        "frame 1 through its palette; mirrored to convention; cropped",
        lambda li: _perfusion(li, 0),
    ),
    "ct-flow-upper": View(
        "ct-perfusion",
        "CT",
        "frame 2 through its palette; mirrored to convention; cropped",
        lambda li: _perfusion(li, 1),
    ),
    "mr-liver": View("mr-liver", "MRI", "window center 450, width 790 (from its tags); cropped", _liver),
    "mr-shoulder": View("mr-shoulder", "MRI", "window 0 to 500; cropped; 3 x 3 pixels averaged", _shoulder),
    "mni-low": View("mni-t1", "MRI", "axial section 40", _axial("mni-t1", 40)),
    "mni-mid": View("mni-t1", "MRI", "axial section 80", _axial("mni-t1", 80)),
    "mni-high": View("mni-t1", "MRI", "axial section 108", _axial("mni-t1", 108)),
    "mni-mid-gm": View("mni-gm", "MRI", "axial section 80", _axial("mni-gm", 80)),
    "mni-mid-wm": View("mni-wm", "MRI", "axial section 80", _axial("mni-wm", 80)),
    "mni-coronal": View(
        "mni-t1", "MRI", "coronal section 120", lambda library: volume.coronal(library.volume("mni-t1"), 120)
    ),
    "mni-sagittal": View(
        "mni-t1", "MRI", "sagittal section 98", lambda library: volume.sagittal(library.volume("mni-t1"), 98)
    ),
    "us-node": View("us-node", "Ultrasound", "cropped to the image, text and scales outside", _node),
    "us-pelvis-a": View(
        "us-pelvis",
        "Ultrasound",
        "left pane through its palette; window 0 to 170; cropped",
        lambda li: _pelvis(li, 44, 108, 332, 404),
    ),
    "us-pelvis-b": View(
        "us-pelvis",
        "Ultrasound",
        "right pane through its palette; window 0 to 170; cropped",
        lambda li: _pelvis(li, 338, 64, 624, 402),
    ),
    "xr-chest": View("xr-chest", "X-ray", "inverted; edges cropped; 5 x 5 pixels averaged", _chest),
    "xr-leg": View(
        "xr-leg",
        "X-ray",
        "inverted; mirrored to convention; cropped to the collimated field; 3 x 3 pixels averaged",
        lambda library: _shrink(_crop(_leg(library, 540, 960), 537, 157, 1284, 1756), 3),
    ),
    "xr-ankle": View(
        "xr-leg",
        "X-ray",
        "inverted; mirrored to convention; cropped to the distal third; 2 x 2 pixels averaged",
        lambda library: _shrink(_crop(_leg(library, 600, 760), 537, 900, 1257, 1656), 2),
    ),
    "path-ihc": View("path-ihc", "Pathology", "2 x 2 pixels averaged", lambda li: _shrink(li.picture("path-ihc"), 2)),
    "path-ihc-gland": View(
        "path-ihc", "Pathology", "cropped to 224 x 224", lambda li: _crop(li.picture("path-ihc"), 208, 280, 432, 504)
    ),
    "path-ihc-stroma": View(
        "path-ihc", "Pathology", "cropped to 224 x 224", lambda li: _crop(li.picture("path-ihc"), 140, 136, 364, 360)
    ),
    "path-he": View(
        "path-he",
        "Pathology",
        "cropped to 448 x 448; 2 x 2 pixels averaged",
        lambda li: _shrink(_crop(li.picture("path-he"), 1040, 1900, 1488, 2348), 2),
    ),
    "fundus": View(
        "fundus",
        "Clinical photography",
        "5 x 5 pixels averaged",
        lambda li: _shrink(_crop(li.picture("fundus"), 0, 0, 1410, 1410), 5),
    ),
    "fundus-disc": View(
        "fundus",
        "Clinical photography",
        "cropped to the optic disc; 2 x 2 pixels averaged",
        lambda li: _shrink(_crop(li.picture("fundus"), 40, 450, 520, 930), 2),
    ),
    "fundus-macula": View(
        "fundus",
        "Clinical photography",
        "cropped to the macula; 2 x 2 pixels averaged",
        lambda li: _shrink(_crop(li.picture("fundus"), 460, 460, 940, 940), 2),
    ),
    "fundus-patch": View("fundus-patch", "Clinical photography", "as it is", lambda li: li.picture("fundus-patch")),
    **{
        f"mni{tag}-surface-{side}": View(
            key, "MRI", f"surface seen from {side}, threshold {at}", _surface(key, side, at)
        )
        for key, tag, at in (("mni-t1", "", 60), ("mni-gm", "-gm", 100), ("mni-wm", "-wm", 128))
        for side in volume.SIDES
    },
    **{
        f"mni{tag}-{name}": View(key, "MRI", f"axial sections at {fractions} of the extent", _grid(key, fractions))
        for key, tag in (("mni-t1", ""), ("mni-gm", "-gm"), ("mni-wm", "-wm"))
        for name, fractions in (
            ("sections", volume.PROJECTION_FRACTIONS),
            ("levels", volume.RECONSTRUCTION_FRACTIONS),
        )
    },
}
