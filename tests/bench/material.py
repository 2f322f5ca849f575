"""What is measured on: seeded 512x512 PNG pairs and text pairs of the sample's kind."""

from io import BytesIO

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter


def image_pairs(count: int, size: int = 512, seed: int = 0) -> list[tuple[bytes, bytes]]:
    """PNG files (candidate, reference): smooth structures, and the same with noise."""
    random = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        field = gaussian_filter(random.normal(size=(size, size, 3)), (6, 6, 0))
        reference = np.interp(field, (field.min(), field.max()), (0, 255))
        candidate = np.clip(reference + random.normal(0, 6, reference.shape), 0, 255)
        pairs.append((_png(candidate), _png(reference)))
    return pairs


def _png(pixels: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG", compress_level=1)
    return file.getvalue()


def text_pairs(count: int, longest: int | None = None) -> tuple[list[str], list[str]]:
    """Candidates and references: the sample's answers, each against the next one's beginning and its own end.

    With `longest` only answers of up to as many characters.
    """
    import medgen_bench

    answers = [
        answer
        for config in ("vqa", "gen")
        for answer in medgen_bench.load(config, edition="sample")["answer"]
        if answer and (longest is None or len(answer) <= longest)
    ]
    references = [f"{answers[i % len(answers)]} Case {i}." for i in range(count)]
    candidates = [
        f"{references[(i + 1) % count][: len(reference) // 2]} {reference[len(reference) // 2 :]}"
        for i, reference in enumerate(references)
    ]
    return candidates, references
