"""Perceptual hashes, near pairs and groups, against brute force, sets merged one by one, and `imagehash` itself."""

import io
from itertools import combinations

import imagehash
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data

from medgen_metrics.groups import HASH_THRESHOLD
from medgen_metrics.groups import group_records
from medgen_metrics.groups import near_pairs
from medgen_metrics.groups import perceptual_hash


def file(image: Image.Image, kind: str = "PNG", **options: int) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def bits(a: bytes | None, b: bytes | None) -> int:
    assert a is not None
    assert b is not None
    return int(np.unpackbits(np.frombuffer(a, np.uint8) ^ np.frombuffer(b, np.uint8)).sum())


PICTURES = {name: Image.fromarray(getattr(data, name)()) for name in ("retina", "immunohistochemistry", "cell", "moon")}


@pytest.mark.parametrize("name", PICTURES)
def test_the_hash_is_imagehashs(name: str) -> None:
    small = PICTURES[name].convert("L").resize((64, 64), Image.Resampling.LANCZOS)
    expected = np.packbits(imagehash.phash(small, hash_size=16).hash).tobytes()
    assert bits(perceptual_hash(file(PICTURES[name])), expected) <= 4  # ours reduces large pictures in two steps


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_stored_anew_is_within_the_threshold(name: str) -> None:
    image = PICTURES[name].convert("RGB")
    half = image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS)
    anew = [file(image, "JPEG", quality=75), file(half), file(image.convert("L")), file(image.convert("RGBA"))]
    original = perceptual_hash(file(image))
    assert max(bits(original, perceptual_hash(other)) for other in anew) <= HASH_THRESHOLD


def test_different_pictures_are_far_apart() -> None:
    hashes = [perceptual_hash(file(image)) for image in PICTURES.values()]
    assert min(bits(a, b) for a, b in combinations(hashes, 2)) > 10 * HASH_THRESHOLD


def test_deep_images_are_not_clipped() -> None:
    grey = np.asarray(PICTURES["moon"].convert("L"))
    deep = [Image.fromarray(grey.astype(np.uint16) * 100 + 3000), Image.fromarray(grey.astype(np.float32) / 255)]
    original = perceptual_hash(file(PICTURES["moon"].convert("L")))
    for image, kind in zip(deep, ("PNG", "TIFF"), strict=True):
        assert bits(original, perceptual_hash(file(image, kind))) <= HASH_THRESHOLD


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no image",
        file(Image.new("L", (64, 64), 90)),
        file(PICTURES["moon"])[:200],
        file(PICTURES["cell"], "JPEG")[:50],
    ],
)
def test_what_shows_nothing_has_no_hash(content: bytes) -> None:
    assert perceptual_hash(content) is None


def flipped(value: bytes, positions: list[int]) -> bytes:
    unpacked = np.unpackbits(np.frombuffer(value, np.uint8))
    unpacked[positions] ^= 1
    return np.packbits(unpacked).tobytes()


@settings(max_examples=60)
@given(st.data())
def test_near_pairs_connect_what_brute_force_connects(draw: st.DataObject) -> None:
    seeds = draw.draw(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=3))
    hashes = []
    for _ in range(draw.draw(st.integers(0, 12))):
        positions = draw.draw(st.lists(st.integers(0, 255), max_size=9, unique=True))
        hashes.append(flipped(draw.draw(st.sampled_from(seeds)), positions))
    close = {(a, b) for a, b in combinations(range(len(hashes)), 2) if bits(hashes[a], hashes[b]) <= HASH_THRESHOLD}
    found = {(min(pair), max(pair)) for pair in near_pairs(hashes)}
    assert found <= close
    assert components(len(hashes), found) == components(len(hashes), close)


def components(size: int, pairs: set[tuple[int, int]]) -> set[frozenset[int]]:
    """By merging sets, one pair after the other."""
    sets = [{n} for n in range(size)]
    for a, b in pairs:
        joined = next(s for s in sets if a in s) | next(s for s in sets if b in s)
        sets = [s for s in sets if not s & joined] + [joined]
    return {frozenset(s) for s in sets}


def test_groups_are_components_over_digests_and_hashes() -> None:
    first, second = bytes(32), flipped(bytes(32), [0, 100, 200])
    far = bytes(range(32))
    images = [["d", "e"], ["a"], ["e", "b"], ["c"], ["f"], ["g"]]
    groups = group_records(images, {"a": first, "b": second, "c": far, "d": far[::-1], "e": None, "f": None, "g": None})
    # 0-2 share e; 2-1 are near (a, b); flat or unreadable f and g share nothing
    assert groups == ["g-a", "g-a", "g-a", "g-c", "g-f", "g-g"]


@given(st.permutations(range(5)))
def test_groups_do_not_depend_on_the_order(order: list[int]) -> None:
    images = [["a", "b"], ["b", "c"], ["d"], ["e", "f"], ["f"]]
    wanted = dict(enumerate(group_records(images, {})))
    assert group_records([images[n] for n in order], {}) == [wanted[n] for n in order]


def test_equal_hashes_in_thousands_do_not_blow_up() -> None:
    assert len(near_pairs([bytes(32)] * 20_000)) == 19_999


def test_no_records_no_groups() -> None:
    assert group_records([], {}) == []
