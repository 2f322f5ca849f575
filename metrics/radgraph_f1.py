"""RadGraph F1 of reports, RG_ER, through the package `radgraph` (an extra), on RadGraph-XL.

RadGraph reads a report as entities (anatomy; observations that are present, absent or uncertain) and relations. RG_ER
(Delbrouck et al. 2022, `reward_level="partial"` of the package) is the F1 of the two sets of entities, where an entity
is its tokens, its label and whether any relation starts from it. Graphs and F1 are the package's own.

The package prints, downloads and unpacks by itself; here its weights are found, checked and unpacked first.
"""

import io
import json
import logging
import os
import shutil
import sys
import tarfile
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any
from typing import NamedTuple

from . import hub_files
from .answer_text import is_blank
from .devices import default_device
from .devices import inference
from .file_digests import files_digest
from .weights import Weights
from .weights import WeightsUnavailable
from .weights import hub_encoder
from .weights import obtain

logger = logging.getLogger(__name__)

MODEL = "radgraph-xl"
REPO, ARCHIVE = "StanfordAIMI/RRG_scorers", "radgraph-xl.tar.gz"
_ORIGIN = f"Hugging Face Hub {REPO}, {ARCHIVE}"
LEVEL = "partial"  # the package's name of RG_ER
WORDS = 512
"""Words of a text that are read: the model looks at pairs of spans, so that a page costs gigabytes."""
_KEPT = 4096  # graphs
_REMEDY = "pip install 'medgen-bench[radgraph]' takes a transformers below 5"

Graph = Mapping[str, Any]
_EMPTY: Graph = {"entities": {}}


class RadGraphFiles(NamedTuple):
    """RadGraph-XL on this machine.

    Attributes:
        folder: config, vocabulary and weights.
        digest: of these, by content.
        version: the package's.
    """

    folder: Path
    digest: str
    version: str


class Score(NamedTuple):
    """A report's F1 in 0-1; None where the reference has no entity, so that there is nothing to find.

    `truncated`: whether either text was cut to `WORDS`.
    """

    f1: float | None
    truncated: bool


def find_radgraph(offline: bool | None = None) -> RadGraphFiles:
    """Have the package and its weights on this machine, the weights downloaded if need be.

    Raises:
        WeightsUnavailable: the package isn't installed or can't run with this transformers; the weights, or the encoder
            that their config names, are not here and not to be had.
    """
    version = _version()
    _refuse_transformers(version)
    folder = _obtain_all(version, offline)
    return RadGraphFiles(folder, files_digest(folder), version)


def is_installed() -> bool:
    """Whether the package is."""
    try:
        _version()
    except WeightsUnavailable:
        return False
    return True


def listed() -> Weights:
    """RadGraph-XL as the command line lists and gets it: with the encoder that its config names, and for the package.

    Its place is the package's affair, so that without the package nothing is here, and nothing can be had.
    """
    installed = is_installed()
    found = _weights(_version() if installed else "")
    origin = f"{_ORIGIN}, into its package's cache; optional, for --text-extras radgraph"

    def find() -> Path | None:
        folder = found.find() if installed else None
        if folder is None:
            return None
        try:
            encoder = _encoder_of(folder)
        except (OSError, ValueError, KeyError, TypeError):  # what scoring will say of it
            return None
        return folder if Path(encoder).is_dir() or hub_encoder(encoder).find() is not None else None

    return replace(
        found,
        origin=origin if installed else f"{origin}; its package is not installed",
        find=find,
        fetch=lambda: _obtain_all(_version(), offline=False),
        by_hand=found.by_hand if installed else lambda: _REMEDY,
    )


def _version() -> str:
    try:
        return metadata.version("radgraph")
    except metadata.PackageNotFoundError:
        raise WeightsUnavailable(
            "RadGraph F1 needs the package radgraph, which is not installed",
            _REMEDY,
        ) from None


def _obtain_all(version: str, offline: bool | None) -> Path:
    folder = _obtain(_weights(version), offline)
    encoder = _encoder_of(folder)
    if not Path(encoder).is_dir():
        obtain(hub_encoder(encoder), offline=offline)
    return folder


def _refuse_transformers(version: str) -> None:
    from transformers import PreTrainedTokenizerBase

    if not hasattr(PreTrainedTokenizerBase, "encode_plus"):
        raise WeightsUnavailable(
            f"radgraph {version} calls the tokenizers' encode_plus, which transformers "
            f"{metadata.version('transformers')} no longer has",
            _REMEDY,
        )


def _obtain(wanted: Weights, offline: bool | None) -> Path:
    try:
        return obtain(wanted, offline=offline)
    except WeightsUnavailable as error:
        # No option names their folder: the package has its own place for them.
        raise WeightsUnavailable(error.problem, wanted.by_hand()) from error


def _encoder_of(folder: Path) -> str:
    """The encoder whose tokenizer and architecture the package loads by name."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return str(config["model"]["embedder"]["token_embedders"]["bert"]["model_name"])


def _weights(version: str) -> Weights:
    def place() -> Path:
        from appdirs import user_cache_dir

        return Path(user_cache_dir("radgraph")) / version / MODEL

    def find() -> Path | None:
        folder = place()
        is_complete = all((folder / name).exists() for name in ("config.json", "vocabulary", "weights.th"))
        return folder if is_complete else None

    def fetch() -> Path:
        folder = place()
        unpack(hub_files.fetch_file(REPO, None, ARCHIVE), folder)
        return folder

    return Weights(
        name=MODEL,
        tier="text",
        metric="radgraph_f1",
        origin=_ORIGIN,
        megabytes=0,
        licence="see its card",
        find=find,
        fetch=fetch,
        url=hub_files.url,
        by_hand=lambda: (
            f"on a machine with a network run `hf download {REPO} {ARCHIVE}`, and unpack the archive here to {place()}"
        ),
    )


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder in one step; members that would land outside it are refused."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(made, filter="data")
        made.chmod(0o755)
        os.replace(made, folder)  # an empty folder, which the package leaves where its download failed, is in no way
    except OSError:
        # Another process may have been quicker.
        if not (folder / "weights.th").is_file():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


@lru_cache(maxsize=1)
def _model(folder: Path, device: str | None) -> Any:
    """The process's one RadGraph; another folder or device replaces it."""
    import torch

    # The package changes what warnings are shown, and prints on what device it is: neither is the caller's wish.
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from radgraph import RadGraph

        # On the processor first: there it loads the weights as tensors only, elsewhere as any pickle.
        made = RadGraph(model_type=MODEL, model_cache_dir=str(folder.parent), cuda=-1)
    made.device = torch.device(device) if device else default_device()
    made.model = made.model.to(made.device)
    return made


class Graphs:
    """Graphs of texts, each text's once as long as it is kept: references come again with every system.

    Args:
        files: from `find_radgraph`.
        device: torch's name; None for CUDA where there is some.
    """

    def __init__(self, files: RadGraphFiles, device: str | None = None) -> None:
        self._files = files
        self._device = device
        self._kept: OrderedDict[str, Graph | None] = OrderedDict()

    def of(self, texts: Sequence[str]) -> list[Graph | None]:
        """Graphs of texts, none of them blank; None where the package couldn't read one (it says why on stderr)."""
        cut = [" ".join(text.split()[:WORDS]) for text in texts]
        found = {text: self._kept[text] for text in cut if text in self._kept}
        new = sorted(set(cut) - set(found))
        if new:
            model = _model(self._files.folder, self._device)
            with inference(model.device), redirect_stdout(sys.stderr):
                graphs = model(new)
            # The package leaves out what it fails on.
            found.update((text, graphs.get(str(place))) for place, text in enumerate(new))
        for text in cut:
            self._kept[text] = found[text]
            self._kept.move_to_end(text)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return [found[text] for text in cut]


def radgraph_scores(candidates: Sequence[str], references: Sequence[str], graphs: Graphs) -> list[Score | None]:
    """RG_ER of each pair; None where RadGraph can't read the candidate. A blank candidate has no entity, and scores 0.

    Args:
        candidates: reports.
        references: likewise, as many, none of them blank.
        graphs: what reads them.
    """
    if not candidates:
        return []
    spoken = [text for text in candidates if not is_blank(text)]
    read = dict(zip([*spoken, *references], graphs.of([*spoken, *references]), strict=True))
    from radgraph.rewards import compute_reward

    scores: list[Score | None] = []
    for candidate, reference in zip(candidates, references, strict=True):
        own, expected = read.get(candidate, _EMPTY), read[reference]
        truncated = max(len(candidate.split()), len(reference.split())) > WORDS
        if expected is None:
            logger.warning("RadGraph can't read the reference %.60r; it is left out of RadGraph F1", reference)
        if expected is None or not expected["entities"]:
            scores.append(Score(None, truncated))
        elif own is None:
            logger.warning("RadGraph can't read the answer %.60r", candidate)
            scores.append(None)
        else:
            scores.append(Score(float(compute_reward(own, expected, LEVEL)), truncated))
    return scores
