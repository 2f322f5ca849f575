"""Volumes: sections, labelled grids and surface views for 3d-to-2d-projection and 2d-to-3d-reconstruction.

A volume is uint8, indexed [left to right, posterior to anterior, inferior to superior] of the patient, as nibabel
gives it for axis codes R, A, S. Sections follow the radiological convention: the patient's right is at the left of
axial and coronal images, anterior is up in axial and to the left in sagittal ones.
"""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms import _text

PROJECTION_FRACTIONS = (0.25, 0.5, 0.75, 1.0)
RECONSTRUCTION_FRACTIONS = (0.2, 0.4, 0.6, 0.8)
SIDES = ("left", "superior", "anterior")


def section_indices(volume: np.ndarray, fractions: tuple[float, ...]) -> list[int]:
    """Axial positions at `fractions` of the extent from the first to the last section that isn't empty (all 0)."""
    filled = np.flatnonzero(volume.any(axis=(0, 1)))
    if not filled.size:
        raise ValueError("every section of the volume is empty")
    first, last = int(filled[0]), int(filled[-1])
    return [round(first + fraction * (last - first)) for fraction in fractions]


def axial(volume: np.ndarray, index: int) -> np.ndarray:
    """Axial section, anterior up, the patient's right at the image's left."""
    return np.ascontiguousarray(volume[::-1, ::-1, index].T)


def coronal(volume: np.ndarray, index: int) -> np.ndarray:
    """Coronal section, superior up, the patient's right at the image's left."""
    return np.ascontiguousarray(volume[::-1, index, ::-1].T)


def sagittal(volume: np.ndarray, index: int) -> np.ndarray:
    """Sagittal section, superior up, anterior at the image's left."""
    return np.ascontiguousarray(volume[index, ::-1, ::-1].T)


def labelled_grid(sections: list[np.ndarray], labels: list[str], columns: int = 2) -> np.ndarray:
    """Sections of one size side by side, each under a 14-pixel bar with its label. uint8, H x W x 3."""
    if len(sections) != len(labels) or len({section.shape for section in sections}) != 1:
        raise ValueError("expected one label a section, and sections of one size")
    height, width = sections[0].shape
    bar = 14
    rows = -(-len(sections) // columns)
    grid = np.zeros((rows * (height + bar), columns * width, 3), dtype=np.uint8)
    for position, (section, label) in enumerate(zip(sections, labels, strict=True)):
        top, left = position // columns * (height + bar), position % columns * width
        grid[top + bar : top + bar + height, left : left + width] = section[:, :, None]
        _text.draw(grid, label, left + 4, top + 2, (255, 255, 255))
    return grid


def surface(volume: np.ndarray, side: str, threshold: int = 60) -> np.ndarray:
    """Shaded view of the surface where the smoothed volume first exceeds `threshold`, seen from `side`.

    Only the largest connected part is shown; loose fragments are left out. Orthographic; the light comes from the
    viewer, nearer surface is brighter. Seen from the left, anterior is at the image's left; seen from above, anterior
    is up and the patient's right at the image's right; seen from the front, the patient's right is at the image's left.

    Returns:
        uint8, H x W, one pixel a voxel.
    """
    from scipy.ndimage import gaussian_filter
    from scipy.ndimage import label

    if side not in SIDES:
        raise ValueError(f"side is one of {', '.join(SIDES)}; got {side!r}")
    # Bring the viewer to the start of the first axis, the image's rows to the second, its columns to the third.
    if side == "left":
        seen = volume[:, ::-1, ::-1].transpose(0, 2, 1)
    elif side == "superior":
        seen = volume[:, ::-1, ::-1].transpose(2, 1, 0)
    else:
        seen = volume[::-1, ::-1, ::-1].transpose(1, 2, 0)
    smooth = gaussian_filter(seen.astype(np.float64), 1.0)
    parts, _ = label(smooth > threshold)
    above = parts == np.bincount(parts.ravel(), minlength=2)[1:].argmax() + 1
    hit = above.any(axis=0)
    depth = above.argmax(axis=0)
    rows, columns = np.indices(hit.shape)
    slope = np.stack([gradient[depth, rows, columns] for gradient in np.gradient(smooth)])
    length = np.sqrt((slope * slope).sum(axis=0))
    facing = np.clip(slope[0], 0, None) / np.where(length > 0, length, 1)
    nearness = 1 - depth / (2 * len(seen))
    return np.where(hit, np.rint(255 * (0.15 + 0.85 * facing) * nearness), 0).astype(np.uint8)
