"""Pixel tier against one pair a call with scikit-image and lpips, and against a hand-written floor."""

import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from .material import image_pairs
from .timing import interleaved
from .timing import ratio

BATCH = 16


def run(count: int = 32) -> Iterator[str]:
    """Seconds a pair of each way, and the ratios. The AlexNet weights are random: speed does not depend on them."""
    import lpips
    import torch
    from scipy.ndimage import uniform_filter
    from skimage.metrics import peak_signal_noise_ratio
    from skimage.metrics import structural_similarity
    from torchvision.models import alexnet
    from torchvision.transforms import Resize
    from torchvision.transforms.functional import to_tensor

    from medgen_metrics.pixel import PixelTier

    torch.manual_seed(0)
    network = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False).eval()
    pairs = image_pairs(count)
    resize = Resize((256, 256))
    folder = tempfile.TemporaryDirectory()
    torch.save(alexnet(weights=None).state_dict(), Path(folder.name) / "alex.pth")
    tier = PixelTier(lpips_weights=Path(folder.name) / "alex.pth")

    def decode(data: bytes) -> Image.Image:
        return Image.open(BytesIO(data)).convert("RGB")

    def tensor(image: Image.Image) -> "torch.Tensor":
        return to_tensor(resize(image)) * 2 - 1

    def one_by_one() -> None:
        for pair in pairs:
            # Each metric opens both files again, as the public evaluator does.
            structural_similarity(*(np.asarray(decode(data).convert("L")) for data in pair), data_range=255)
            peak_signal_noise_ratio(*(np.asarray(decode(data)) for data in pair), data_range=255)
            with torch.inference_mode():
                network(*(tensor(decode(data))[None] for data in pair))

    def floor() -> None:
        for start in range(0, count, BATCH):
            images = [[decode(data) for data in pair] for pair in pairs[start : start + BATCH]]
            for candidate, reference in images:
                a, b = (np.asarray(image, dtype=np.float64) for image in (candidate, reference))
                10 * np.log10(255**2 / np.mean((a - b) ** 2))
                x, y = (np.asarray(image.convert("L"), dtype=np.float64) for image in (candidate, reference))
                means = [uniform_filter(field, 7) for field in (x, y, x * x, y * y, x * y)]
                ux, uy, xx, yy, xy = means
                n = 49 / 48
                vx, vy, vxy = n * (xx - ux * ux), n * (yy - uy * uy), n * (xy - ux * uy)
                c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
                ssim = ((2 * ux * uy + c1) * (2 * vxy + c2)) / ((ux**2 + uy**2 + c1) * (vx + vy + c2))
                ssim[3:-3, 3:-3].mean()
            with torch.inference_mode():
                network(*(torch.stack([tensor(pair[side]) for pair in images]) for side in (0, 1)))

    def ours() -> None:
        for start in range(0, count, BATCH):
            batch = pairs[start : start + BATCH]
            tier.score([pair[0] for pair in batch], [pair[1] for pair in batch])

    timings = interleaved({"one by one": (one_by_one, count), "floor": (floor, count), "ours": (ours, count)})
    yield f"{count} pairs of 512x512; ours {timings['ours'].median * 1000:.1f} ms a pair"
    yield ratio(timings, "one by one", "ours")
    yield ratio(timings, "ours", "floor")
