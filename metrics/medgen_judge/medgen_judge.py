"""A vision-language model's verdicts on medical answers and images, as an `evaluate` module."""

import evaluate

# evaluate reads imports at the margin only; where these fail, its own message would name a package that isn't ours.
try:
    from medgen_metrics import module as shared
    from medgen_metrics.judge.samples import SampleJudge
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] != "medgen_metrics":
        raise
    raise ImportError("medgen_judge needs the distribution medgen-bench: pip install medgen-bench") from error

_DESCRIPTION = """
Checklist-guided verdicts of a vision-language judge on medical answers and images as MedGEN-Bench asks for them: five
dimensions and an overall score, with the reference in sight and without it. A judge's scores are no evidence of
clinical correctness.
"""

_INPUTS = """
Args:
    predictions: outputs, one a sample: a text (str), an image, {"text": ..., "image": ...} where both are asked for, or
        None for a missing one.
    references: reference answers and images, likewise.
    inputs: the input image, or a list of several, a sample.
    instructions: what the system was asked, a sample.
    tasks: a task name a sample.
    choices: optional; for each sample the list of its options, [] for none.
    ids: optional; a name a sample. Samples of one name count once.
Options, when the module is loaded, or in compute together with predictions:
    url: base URL, or several, of an OpenAI-compatible server; default MEDGEN_JUDGE_URL. The key is read from
        MEDGEN_JUDGE_API_KEY.
    model: the judge's name there; default Qwen/Qwen3-VL-8B-Instruct.
    backend: "openai" (default), or "transformers" for a model in this process, with device, dtype, revision,
        batch_size and offline.
    jury: several judges instead, each "model@url".
    protocol, rubric, layout, scale, views: what is asked and shown.
    samples, temperature, seed: how often, and how verdicts are drawn.
    image_side, image_format, max_tokens, reply_format: the form of requests and replies.
    cache: a folder that keeps the replies, so that nothing is asked twice.
    concurrency, deadline: how many requests at once, and how long one may take.
    max_requests, max_cost, prices: how much at most.
    dry_run: ask nothing (for estimates).
"""

_CITATION = """
@article{yang2025medgenbench,
  title = {{MedGEN-Bench}: Contextually entangled benchmark for open-ended multimodal medical generation},
  author = {Yang, Junjie and others},
  journal = {arXiv preprint arXiv:2511.13135},
  year = {2025}
}
"""


class MedgenJudge(shared.ScoringModule):
    """Verdicts asked for in `add_batch`; options are those of `medgen_metrics.judge.tier.JudgeTier`."""

    make_tier = SampleJudge

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=self.storage(),
            reference_urls=["https://arxiv.org/abs/2511.13135"],
        )
