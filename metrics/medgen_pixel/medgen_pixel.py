"""SSIM, PSNR and LPIPS of medical output images against reference images, as an `evaluate` module."""

import evaluate

# evaluate reads imports at the margin only; where these fail, its own message would name a package that isn't ours.
try:
    from medgen_metrics import module as shared
    from medgen_metrics.pixel import PixelTier
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] != "medgen_metrics":
        raise
    raise ImportError("medgen_pixel needs the distribution medgen-bench: pip install medgen-bench") from error

_DESCRIPTION = """
Similarity of a system's output images to reference images as MedGEN-Bench measures it: SSIM, PSNR and LPIPS. Neither
these nor any similarity scores are evidence of clinical correctness.
"""

_INPUTS = """
Args:
    predictions: output images, one a sample: PIL images, paths, encoded bytes, uint8 arrays [height, width(, C)],
        float arrays in [0, 1], CHW tensors; None is a missing output.
    references: reference images, likewise.
    windows: optional; for each sample None or the two grey levels shown as black and white, for deep images.
    inputs: optional; for each sample None or the image that was to be edited. Outputs that hold its pixels are counted
        under the flag "no_op"; no score depends on it.
    names: optional; what to call the samples in messages about bad images; default their positions.
    ids: optional; a name a sample. Samples of one name count once.
Options, when the module is loaded, or in compute together with predictions:
    protocol: "paper" (default) or "standard".
    metrics: which of "ssim", "psnr", "lpips".
    lpips_net: "alex" (default), "squeeze" or "vgg".
    lpips_weights: torchvision's weights file for that network, where it is not to be downloaded.
    device, offline: where networks run; whether weights may be downloaded.
"""

_CITATION = """
@article{yang2025medgenbench,
  title = {{MedGEN-Bench}: Contextually entangled benchmark for open-ended multimodal medical generation},
  author = {Yang, Junjie and others},
  journal = {arXiv preprint arXiv:2511.13135},
  year = {2025}
}
@article{wang2004ssim,
  title = {Image quality assessment: from error visibility to structural similarity},
  author = {Wang, Zhou and Bovik, Alan C. and Sheikh, Hamid R. and Simoncelli, Eero P.},
  journal = {IEEE Transactions on Image Processing},
  volume = {13},
  number = {4},
  pages = {600--612},
  year = {2004}
}
@inproceedings{zhang2018lpips,
  title = {The Unreasonable Effectiveness of Deep Features as a Perceptual Metric},
  author = {Zhang, Richard and Isola, Phillip and Efros, Alexei A. and Shechtman, Eli and Wang, Oliver},
  booktitle = {CVPR},
  year = {2018}
}
"""


class MedgenPixel(shared.ScoringModule):
    """SSIM, PSNR and LPIPS, scored in `add_batch`; options are those of `medgen_metrics.pixel.PixelTier`."""

    make_tier = PixelTier

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=self.storage(),
            reference_urls=["https://arxiv.org/abs/2511.13135"],
        )
