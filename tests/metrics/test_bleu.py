"""Paper BLEU against NLTK's method 1, standard BLEU against sacreBLEU's corpus score."""

import random
import warnings

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as nltk_bleu

from medgen_metrics import bleu


def nltk_method1(candidate: str, reference: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns where no n-gram is shared
        score = nltk_bleu(
            [reference.split()], candidate.split(), smoothing_function=SmoothingFunction(epsilon=0.1).method1
        )
    return float(score)


PAIRS = [
    ("left lung", "left lung"),
    ("lung", "lung"),
    ("the left lung", "the left lung"),
    ("a mass in the left lung", "a mass in the left lung"),
    ("", "left lung"),
    ("left lung", ""),
    ("", ""),
    ("heart", "left lung"),
    ("left", "left lung with a mass"),
    ("lung lung lung lung lung", "lung"),
    ("a mass in the left lung and a small effusion", "a mass in the left lung"),
    ("there is a mass", "there is a mass in the left lung"),
    ("Left lung.", "left lung"),
    ("左 肺 肿块", "左 肺"),
]


@pytest.mark.parametrize(("candidate", "reference"), PAIRS)
def test_sentence_bleu_equals_nltk(candidate: str, reference: str) -> None:
    assert bleu.sentence_bleu(candidate, reference) == pytest.approx(nltk_method1(candidate, reference), abs=1e-9)


# the published values of a right answer of one, two and three words
@pytest.mark.parametrize(("text", "expected"), [("lung", 0.178), ("left lung", 0.316), ("the left lung", 0.562)])
def test_short_right_answers(text: str, expected: float) -> None:
    assert bleu.sentence_bleu(text, text) == pytest.approx(expected, abs=5e-4)


SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "the", "mass", "."]), max_size=12).map(" ".join)


@given(SENTENCES, SENTENCES)
def test_sentence_bleu_equals_nltk_on_any_words(candidate: str, reference: str) -> None:
    score = bleu.sentence_bleu(candidate, reference)
    assert score == pytest.approx(nltk_method1(candidate, reference), abs=1e-9)
    assert 0.0 <= score <= 1.0


def corpora() -> list[tuple[list[str], list[str]]]:
    rng = random.Random(0)
    text = "there is a mass in the left lung , no effusion . (heart) normal; T2-weighted 3.5 cm don't"
    words = text.split()
    made = [
        [" ".join(rng.choices(words, k=rng.randint(0, 25))) for _ in range(60)],
        [" ".join(rng.choices(words, k=rng.randint(1, 25))) for _ in range(60)],
    ]
    candidates, references = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    return [
        (made[0], made[1]),
        (candidates, references),
        (["heart"], ["left lung"]),
        ([""], ["left lung"]),
        (["left lung"], ["left lung"]),
        (["a b c\n\nd &quot;e&quot;  "], ["a b c d e"]),
    ]


@pytest.mark.parametrize(("candidates", "references"), corpora())
def test_corpus_bleu_from_rows_equals_sacrebleu(candidates: list[str], references: list[str]) -> None:
    rows = [bleu.statistics(*pair) for pair in zip(candidates, references, strict=True)]
    expected = sacrebleu.corpus_bleu(candidates, [references]).score / 100
    assert bleu.corpus_bleu(rows) == pytest.approx(expected, abs=1e-9)
    for row, pair in zip(rows, zip(candidates, references, strict=True), strict=True):
        assert row["bleu"] == pytest.approx(sacrebleu.sentence_bleu(pair[0], [pair[1]]).score / 100, abs=1e-9)
        assert set(row) == {"bleu", *bleu.STATISTICS}
        assert 0.0 <= row["bleu"] <= 1.0


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5))
def test_corpus_bleu_equals_sacrebleu_on_any_text(pairs: list[tuple[str, str]]) -> None:
    rows = [bleu.statistics(*pair) for pair in pairs]
    expected = sacrebleu.corpus_bleu([pair[0] for pair in pairs], [[pair[1] for pair in pairs]]).score / 100
    assert bleu.corpus_bleu(rows) == pytest.approx(expected, abs=1e-9)


def test_no_rows_have_no_bleu() -> None:
    assert bleu.corpus_bleu([]) is None


def test_signature_is_sacrebleus_own() -> None:
    metric = sacrebleu.metrics.BLEU()
    metric.corpus_score(["a b"], [["a b"]])
    assert bleu.sacrebleu_signature() == str(metric.get_signature())
    assert "tok:13a|smooth:exp" in bleu.sacrebleu_signature()
