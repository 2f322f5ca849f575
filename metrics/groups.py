"""Which records share an image: perceptual hashes of image files, near pairs of them, connected components.

Bootstraps resample such groups, since records made from one picture are no independent evidence.
"""

import io
from collections.abc import Mapping
from collections.abc import Sequence

# Two images are taken for one where their 256-bit DCT hashes (`imagehash.phash`, hash_size=16) differ in at most this
# many bits. Medical images resemble each other, so the threshold only just covers the same picture stored anew: over 25
# pictures of all modalities, JPEG at quality 75 and 95, half size and 256x256 changed 0 to 6 bits (20 in a synthetic
# colour wheel), while the two most alike of different pictures were 96 apart. Neighbouring sections of one volume (1 to
# 10 bits) may be joined too.
HASH_BITS, HASH_THRESHOLD = 256, 6


def perceptual_hash(data: bytes) -> bytes | None:
    """The 32-byte hash of an image file; None where it doesn't decode or is flat (flat images all hash alike)."""
    import imagehash
    import numpy as np
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            image.draft("L", (256, 256))  # a JPEG is decoded at reduced size
            if image.mode[0] in "IF":  # deeper than 8 bit, where converting would clip
                values = np.asarray(image, dtype=np.float64)
                span = np.ptp(values) or 1
                picture = Image.fromarray(((values - values.min()) * (255 / span)).astype(np.uint8))
            else:
                picture = image.convert("L")
            small = picture.resize((64, 64), Image.Resampling.LANCZOS, reducing_gap=3.0)
    except Exception:  # Pillow's decoders raise what they like; saying what is wrong with a file isn't done here
        return None
    if np.asarray(small).std() < 4:
        return None
    return np.packbits(imagehash.phash(small, hash_size=16).hash).tobytes()


def near_pairs(hashes: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs of indices whose hashes differ in at most `HASH_THRESHOLD` bits; of equal hashes only a chain of pairs.

    Hashes that differ in at most t bits agree on one of t + 1 bands of bits, so only those that share a band are
    compared.
    """
    import numpy as np

    last: dict[bytes, int] = {}
    pairs = [(last[value], n) for n, value in enumerate(hashes) if value in last or last.setdefault(value, n) != n]
    places = np.array(list(last.values()), dtype=int)
    bits = np.unpackbits(np.frombuffer(b"".join(last), dtype=np.uint8).reshape(len(last), HASH_BITS // 8), axis=1)
    signs = bits.astype(np.float32) * 2 - 1
    for band in np.array_split(np.arange(HASH_BITS), HASH_THRESHOLD + 1):
        buckets: dict[bytes, list[int]] = {}
        for n, key in enumerate(np.packbits(bits[:, band], axis=1)):
            buckets.setdefault(key.tobytes(), []).append(n)
        for bucket in buckets.values():
            for k, n in enumerate(bucket[:-1]):
                others = np.array(bucket[k + 1 :])
                near = others[(HASH_BITS - signs[others] @ signs[n]) / 2 <= HASH_THRESHOLD]
                pairs += [(int(places[n]), int(places[m])) for m in near]
    return pairs


def group_records(images: Sequence[Sequence[str]], hashes: Mapping[str, bytes | None]) -> list[str]:
    """Connected components of records that share an image.

    Args:
        images: the SHA-256 of each record's input and reference images.
        hashes: digest -> `perceptual_hash`.

    Returns:
        A name for each record, made from the least digest of its component, so that it doesn't depend on the order.
    """
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    digests = sorted({digest for record in images for digest in record})
    node = {digest: len(images) + n for n, digest in enumerate(digests)}
    hashed = [digest for digest in digests if hashes.get(digest) is not None]
    edges = [(n, node[digest]) for n, record in enumerate(images) for digest in record]
    edges += [(node[hashed[a]], node[hashed[b]]) for a, b in near_pairs([hashes[digest] or b"" for digest in hashed])]
    starts, ends = np.array(edges, dtype=int).reshape(-1, 2).T
    size = len(images) + len(digests)
    _, component = connected_components(coo_matrix((np.ones(len(edges)), (starts, ends)), shape=(size, size)), False)
    least: dict[int, str] = {}
    for digest in digests:
        least.setdefault(component[node[digest]], digest)
    return [f"g-{least[component[n]][:16]}" for n in range(len(images))]
