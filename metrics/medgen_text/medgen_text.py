"""BLEU, BERTScore and exact match of medical answers against reference answers, as an `evaluate` module."""

import evaluate

# evaluate reads imports at the margin only; where these fail, its own message would name a package that isn't ours.
try:
    from medgen_metrics import module as shared
    from medgen_metrics.text import TextTier
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] != "medgen_metrics":
        raise
    raise ImportError("medgen_text needs the distribution medgen-bench: pip install medgen-bench") from error

_DESCRIPTION = """
Agreement of a system's answers with reference answers as MedGEN-Bench measures it: BLEU, BERTScore (PBScore on
PubMedBERT) and exact match of closed questions. Neither these nor any similarity scores are evidence of clinical
correctness.
"""

_INPUTS = """
Args:
    predictions: answers, one a sample; None is a missing one.
    references: reference answers, likewise.
    choices: optional; for each sample the list of its options ("A. left lung", or bare bodies, lettered in order), []
        for none.
    tasks: optional; a task name a sample. "multiple-choice" and "blank-filling" are closed, all else is open; a name
        that is nearly one of these is an error. Without it a sample with options is multiple choice, any other open.
    ids: optional; a name a sample. Samples of one name count once.
Options, when the module is loaded, or in compute together with predictions:
    protocol: "paper" (default) or "standard".
    metrics: which of "bleu", "bertscore", "em".
    model: BERTScore's encoder: a Hub id, a folder, or NAME=FOLDER; default PubMedBERT.
    num_layers: the layer that BERTScore compares; default 12 for PubMedBERT, else the encoder's last.
    baseline_path: standard only; a baseline file of bert-score's format adds the rescaled value.
    device, offline: where the encoder runs; whether weights may be downloaded.
    extras: which of "radgraph" (RadGraph F1 of reports), "sentence" (cosine of sentence embeddings), "negation"
        (agreement on closed findings), "sections" (FINDINGS and IMPRESSION of reports); default none.
    sentence_model: the text encoder of "sentence": a Hub id, a folder, or NAME=FOLDER; it has no default.
"""

_CITATION = """
@article{yang2025medgenbench,
  title = {{MedGEN-Bench}: Contextually entangled benchmark for open-ended multimodal medical generation},
  author = {Yang, Junjie and others},
  journal = {arXiv preprint arXiv:2511.13135},
  year = {2025}
}
@inproceedings{papineni2002bleu,
  title = {{BLEU}: a Method for Automatic Evaluation of Machine Translation},
  author = {Papineni, Kishore and Roukos, Salim and Ward, Todd and Zhu, Wei-Jing},
  booktitle = {ACL},
  year = {2002}
}
@inproceedings{post2018sacrebleu,
  title = {A Call for Clarity in Reporting {BLEU} Scores},
  author = {Post, Matt},
  booktitle = {WMT},
  year = {2018}
}
@inproceedings{zhang2020bertscore,
  title = {{BERTScore}: Evaluating Text Generation with {BERT}},
  author = {Zhang, Tianyi and Kishore, Varsha and Wu, Felix and Weinberger, Kilian Q. and Artzi, Yoav},
  booktitle = {ICLR},
  year = {2020}
}
"""


class MedgenText(shared.ScoringModule):
    """BLEU, BERTScore and exact match, scored in `add_batch`; options are those of `medgen_metrics.text.TextTier`."""

    make_tier = TextTier

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=self.storage(),
            reference_urls=["https://arxiv.org/abs/2511.13135"],
        )
