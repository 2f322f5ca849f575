"""Cosine of embeddings of medical output images and reference images, as an `evaluate` module."""

import evaluate

# evaluate reads imports at the margin only; where these fail, its own message would name a package that isn't ours.
try:
    from medgen_metrics import module as shared
    from medgen_metrics.embedding import EmbeddingTier
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] != "medgen_metrics":
        raise
    raise ImportError("medgen_embedding needs the distribution medgen-bench: pip install medgen-bench") from error

_DESCRIPTION = """
Similarity of a system's output images to reference images as MedGEN-Bench measures it: the cosine of their embeddings,
MII with MedImageInsight's. Neither this nor any similarity scores are evidence of clinical correctness.
"""

_INPUTS = """
Args:
    predictions: output images, one a sample: PIL images, paths, encoded bytes, uint8 arrays [height, width(, C)],
        float arrays in [0, 1], CHW tensors; None is a missing output.
    references: reference images, likewise.
    windows: optional; for each sample None or the two grey levels shown as black and white, for deep images.
    names: optional; what to call the samples in messages about bad images; default their positions.
    ids: optional; a name a sample. Samples of one name count once.
Options, when the module is loaded, or in compute together with predictions:
    protocol: "paper" (default) or "standard"; the metric is the same.
    model: None (default) for MedImageInsight, whose cosine is named "mii"; another encoder's is "cosine[<model>]": a
        transformers vision model's Hub id or folder, an open_clip model's behind "open-clip:", or "NAME=FOLDER".
    weights: MedImageInsight's checkpoint, or a folder that holds it, where it is not to be downloaded.
    cache: a folder where the references' embeddings are kept for later runs.
    device, offline: where the encoder runs; whether weights may be downloaded.
    dtype: "float32" (default), "bfloat16" or "float16", of the encoder.
"""

_CITATION = """
@article{yang2025medgenbench,
  title = {{MedGEN-Bench}: Contextually entangled benchmark for open-ended multimodal medical generation},
  author = {Yang, Junjie and others},
  journal = {arXiv preprint arXiv:2511.13135},
  year = {2025}
}
@article{codella2024medimageinsight,
  title = {{MedImageInsight}: An Open-Source Embedding Model for General Domain Medical Imaging},
  author = {Codella, Noel C. F. and others},
  journal = {arXiv preprint arXiv:2410.06542},
  year = {2024}
}
"""


class MedgenEmbedding(shared.ScoringModule):
    """Cosines, scored in `add_batch`; options are those of `medgen_metrics.embedding.EmbeddingTier`."""

    make_tier = EmbeddingTier

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=self.storage(),
            reference_urls=["https://arxiv.org/abs/2511.13135", "https://arxiv.org/abs/2410.06542"],
        )
