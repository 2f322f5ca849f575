"""MedGEN-Bench (arXiv 2511.13135) as a `datasets` data set: configs `vqa`, `edit`, `gen`, split `test`.

    import medgen_bench
    from datasets import load_dataset

    edits = load_dataset("medgen-bench", "edit", edition="sample", split="test")
    edits = medgen_bench.load("edit", data_dir="MedGEN_raw")  # the same, without the registered name

Editions: `paper` (default) is the release without disease-prediction, `release` all of it, `sample` a small
illustrative set that is embedded in the package and is no part of MedGEN-Bench. `paper` and `release` are read from
`data_dir=`, else from the folder in `MEDGEN_BENCH_DIR`, else from the Hub at a pinned revision.
"""

import hashlib
import json
import os
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import datasets

if TYPE_CHECKING:
    from medgen_metrics.sources.files import Piece
    from medgen_metrics.sources.files import Shard

NAME = "medgen-bench"
CONFIGS, EDITIONS = ("vqa", "edit", "gen"), ("paper", "release", "sample")
Folder = str | os.PathLike[str]
HUB_REPO = "Jack04810/MedGEN-Bench"
HUB_REVISION = "cee5e7ae410f7c5be12d5fa55464afb094c099b7"
_OFFER = (
    "Give the folder of a local copy (data_dir=, --data-dir or MEDGEN_BENCH_DIR), or load the sample: "
    'edition="sample" (--edition sample).'
)


class DataError(ValueError):
    """A data set that can't be had or read: where, what was expected, what was got, what to do."""


# ---- Taxonomy -------------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A task's config and kind of answer: an option (`choice`), words (`blank`), free text (`open`), none (None)."""

    config: str
    answer: str | None


TASKS = {
    "multiple-choice": Task("vqa", "choice"),
    "blank-filling": Task("vqa", "blank"),
    "report-generation": Task("vqa", "open"),
    "question-answering": Task("vqa", "open"),
    "style-transfer": Task("edit", None),
    "artifact-removal": Task("edit", None),
    "noise-reconstruction": Task("edit", None),
    "resolution-editing": Task("edit", None),
    "contrast-enhancement": Task("edit", None),
    "anatomical-annotation": Task("edit", None),
    "instruction-editing": Task("gen", "open"),
    "organic-removal": Task("gen", "open"),
    "organic-reconstruction": Task("gen", "open"),
    "3d-to-2d-projection": Task("gen", "open"),
    "2d-to-3d-reconstruction": Task("gen", "open"),
    "disease-prediction": Task("gen", "open"),
}

# In the release, not among the paper's 15 tasks: inferred from 6,623 - 6,422 = 201 records and 28 - 27 subtasks.
RELEASE_ONLY_TASK, RELEASE_ONLY_RECORDS, PAPER_SUBTASKS = "disease-prediction", 201, 27
RECORDS = {"vqa": 1100, "edit": 3872, "gen": 1651}  # in the release

_TASK_ALIASES = {
    "multi-choice": "multiple-choice",
    "question-answer": "question-answering",
    "resolution-edit": "resolution-editing",
    "instruction-edit": "instruction-editing",
    "dye-transfer": "style-transfer",
    "3d-2d-projection": "3d-to-2d-projection",
    "2d-3d-reconstruction": "2d-to-3d-reconstruction",
    "organ-removal": "organic-removal",
    "organ-reconstruction": "organic-reconstruction",
}
# Names of a format that older files hold where the task should be; the task is then in another field.
_GENERIC_TASKS = {"image-edit", "image-editing", "multimodal-generation", "generate", "generation"}


def canonical_task(raw: str | None, *fallbacks: str | None) -> str:
    """The canonical name of a task; case, `_` and spaces don't matter, known aliases are mapped.

    `fallbacks` are further fields of the record, for where `raw` is empty or names only a format (`image-editing`).
    ValueError if none of them names a task.
    """
    for name in (raw, *fallbacks):
        key = re.sub(r"[\s_]+", "-", (name or "").strip().lower())
        if key in TASKS or key in _TASK_ALIASES:
            return _TASK_ALIASES.get(key, key)
        if key and key not in _GENERIC_TASKS:
            raise ValueError(f"unknown task {name!r}; expected one of {', '.join(TASKS)}")
    raise ValueError(f"no task in {[raw, *fallbacks]}; expected one of {', '.join(TASKS)}")


_MODALITY_SPELLINGS = {
    "CT": "ct, computed tomography, ct scan, ct image, cect, ncct, hrct, cbct, cta, ct angiography",
    "MRI": "mri, mr, mr imaging, mri scan, mr image, magnetic resonance, magnetic resonance imaging, fmri, mra",
    "Ultrasound": "ultrasound, us, ultra sound, ultrasonography, sonography, ultrasound imaging, doppler ultrasound, "
    "echocardiography, echocardiogram",
    "X-ray": "x ray, xray, x rays, radiograph, radiography, radiographs, x ray radiography, radiograph x ray, "
    "radiography x ray, chest x ray, cxr, chest radiograph, plain radiograph, plain film, mammography, mammogram",
    "Pathology": "pathology, histopathology, histology, pathology slide, cytology, whole slide image",
    # Pictures of a patient by any camera, endoscope or fundus camera: our reading, the release defines none.
    "Clinical photography": "clinical photography, clinical photo, clinical photos, clinical photograph, photo, "
    "clinical photographs, photograph, photography, dermoscopy, fundus, fundus photography, endoscopy, colonoscopy",
    "Other": "other, others",
}
MODALITIES = tuple(_MODALITY_SPELLINGS)
_MODALITY_OF = {name: modality for modality, names in _MODALITY_SPELLINGS.items() for name in names.split(", ")}


@lru_cache(maxsize=4096)  # also what makes it one warning a spelling
def canonical_modality(raw: str | None) -> str:
    """One of `MODALITIES`, for any case, punctuation and spacing; `Other` with one warning for an unknown spelling."""
    modality = _MODALITY_OF.get(" ".join(re.findall(r"[^\W_]+", (raw or "").lower())))
    if modality is None:
        warnings.warn(f"unknown modality {raw!r} taken as 'Other'; known ones: {', '.join(MODALITIES)}", stacklevel=2)
    return modality or "Other"


# ---- Records: options, ids, columns ---------------------------------------------------------------------------------

_MARKER = re.compile(r"(?:^|(?<=\s))(?:answer )?(?:options|choices)[ \t]*[:：]", re.IGNORECASE)
_OPTION = re.compile(r"\s*\(?([A-Z])(?:[.):](?=\s)|[．）：、])\s*(\S.*)")
_FIRST_OPTION = re.compile(r"^(?=\s*\(?A\W)")


def split_options(instruction: str) -> tuple[str, list[str]]:
    """Take a closed question's options out of its instruction.

    The last block counts: one option a line, after an `Options:` marker or, where there is no such block, without one.
    Fewer than two options, or letters that don't ascend from A, are no block.
    Gives the instruction without the block, and `["A. …", "B. …"]`; the instruction as it is, and `[]`, without one.
    """
    lines = instruction.splitlines()
    for beginning in (_MARKER, _FIRST_OPTION):
        for at in reversed(range(len(lines))):
            if (found := beginning.search(lines[at])) is None:
                continue
            choices, used = _lettered([lines[at][found.end() :], *lines[at + 1 : at + 60]])  # 26, and blank lines
            if choices:
                return "\n".join([*lines[:at], lines[at][: found.start()], *lines[at + used :]]).strip(), choices
    return instruction, []


def _lettered(lines: Sequence[str]) -> tuple[list[str], int]:
    """Options at the head of `lines`, and the number of lines that they take; none if fewer than two."""
    choices: list[str] = []
    used = 0
    for number, line in enumerate(lines, start=1):
        option = _OPTION.match(line)
        if option is not None and ord(option[1]) == ord("A") + len(choices):
            choices.append(f"{option[1]}. {option[2].rstrip()}")
            used = number
        elif line.strip():
            break
    return (choices, used) if len(choices) > 1 else ([], 0)


def record_id(task: str, instruction: str, input_bytes: Sequence[bytes], output_bytes: Sequence[bytes]) -> str:
    """The id of a record before repeats are numbered, `<task>-<12 hex>`.

    It is made of the canonical task, the instruction without options and white space, and the bytes of the image files.
    """
    body, _ = split_options(instruction)
    images = [[_sha256(data) for data in files] for files in (input_bytes, output_bytes)]
    return f"{task}-{_sha256(json.dumps([task, ' '.join(body.split()), *images]).encode())[:12]}"


def number_repeats(ids: Iterable[str]) -> list[str]:
    """The second, third … of the same id get `-2`, `-3` …, in the order given."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in ids:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return numbered


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def features(config: str) -> datasets.Features:
    """The columns of a config, the same for every source layout and edition.

    Images hold the file's own bytes and no path: `datasets` drops the bytes of an image whose path happens to name a
    file in the working directory.
    """
    _known("config", config, CONFIGS)
    text, images = datasets.Value("string"), datasets.List(datasets.Image())
    columns: dict[str, Any] = dict.fromkeys(("id", "release_id", "task", "subtask", "modality", "instruction"), text)
    columns |= {"choices": datasets.List(text), "input_images": images}
    columns |= {"output_images": images} if config != "vqa" else {}
    columns |= {"answer": text} if config != "edit" else {}
    return datasets.Features({**columns, "source": text, "group": text})


def _known(what: str, value: str | None, known: Sequence[str]) -> None:
    if value not in known:
        raise DataError(f"unknown {what} {value!r}; expected one of {', '.join(known)}")


# ---- Where the files are --------------------------------------------------------------------------------------------

# The public evaluator's names of the configs: folders of the release, and the second part of a `sample_id`.
_PUBLIC_FOLDERS = {"vqa": "vqa", "edit": "image_editing", "gen": "multimodal_generation"}
_CONFIG_OF_NAME = {name: name for name in CONFIGS} | {folder: config for config, folder in _PUBLIC_FOLDERS.items()}
_PUBLIC_COLUMNS = {"instruction", "task", "modality", "input_images"}
_OUR_COLUMNS = _PUBLIC_COLUMNS | {"id", "release_id", "choices", "group"}
_CONFIG_COLUMNS = {"vqa": {"answer"}, "edit": {"output_images"}, "gen": {"answer", "output_images"}}
_MOST_SETS = 8  # that a message names


def find_shards(root: Path) -> "list[Shard]":
    """The files of records at any depth below `root`, in order of config and name.

    The layout is told by looking; the config of a Parquet file from its name or a folder's, else from its columns.
    Links that leave `root` are refused, but for those to `allowed_roots`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from medgen_metrics.sources.files import Shard
    from medgen_metrics.sources.finding import find
    from medgen_metrics.sources.paths import allowed_roots

    if not root.is_dir():
        raise DataError(f"{root}: no such folder. {_OFFER}")
    jsonl, allowed = find(root), allowed_roots(root)
    shards, problems, strangers = jsonl.shards, jsonl.problems, list[str]()
    for path in sorted(root.rglob("*.parquet")):
        name = path.relative_to(root)
        if not path.is_file() or any(part.startswith(".") for part in name.parts):
            continue
        if not any(path.resolve().is_relative_to(place) for place in allowed):
            problems.append(f"{name}: a link out of the folder, to {path.resolve()}; copy the file instead")
            continue
        try:
            columns = set(pq.read_schema(path).names)
        except (pa.ArrowException, OSError) as error:
            problems.append(f"{name}: no readable Parquet file ({error}); copy or download it again")
            continue
        if not columns >= _PUBLIC_COLUMNS:
            strangers.append(f"{name} (columns {', '.join(sorted(columns))})")
            continue
        config = _config_of(path, root, columns)
        if missing := _CONFIG_COLUMNS[config] - columns:
            problems.append(f"{name}: a file of config {config!r} without the column {', '.join(sorted(missing))}")
        shards.append(Shard(path, config, "ours" if columns >= _OUR_COLUMNS else "public"))
    places = {(shard.config, shard.root) for shard in shards}
    if len(places) > len({config for config, _ in places}) or len({shard.layout for shard in shards}) > 1:
        sets = sorted({f"{shard.root} ({shard.config}, {shard.layout})" for shard in shards})
        # of a folder of everything there are hundreds
        found = ", ".join([*sets[:_MOST_SETS], *([f"… and {len(sets) - _MOST_SETS} more"] * (len(sets) > _MOST_SETS))])
        problems.append(f"more than one data set: {found}; name the folder of one")
    _raise_problems(root, problems)
    others = ", ".join(
        f"{len(names)} other {kind} file(s): {'; '.join(names[:20])}"
        for kind, names in (("Parquet", strangers), ("JSONL", jsonl.strangers))
        if names
    )
    if not shards:
        known = f"Parquet with columns {sorted(_PUBLIC_COLUMNS)}, <Format>/<task>/data.jsonl or vqa/edit/gen.jsonl"
        raise DataError(f"{root}: expected {known}; got {others or 'none of them'}. {_OFFER}")
    if others:
        warnings.warn(f"{root}: not read: {others}", stacklevel=2)
    if jsonl.differences:
        warnings.warn(f"{root}: not as manifest.json states: {'; '.join(jsonl.differences)}", stacklevel=2)
    return sorted(shards, key=lambda shard: (CONFIGS.index(shard.config), shard.path))


def _config_of(path: Path, root: Path, columns: set[str]) -> str:
    for name in (re.split(r"[-.]", path.stem)[0], *reversed((root.name, *path.parent.relative_to(root).parts))):
        if config := _CONFIG_OF_NAME.get(name.lower().replace("-", "_")):
            return config
    return "vqa" if "output_images" not in columns else "gen" if "answer" in columns else "edit"


def _raise_problems(where: object, problems: Sequence[str], most: int = 20) -> None:
    """Report all bad rows or files in one error: the first `most`, and how many more."""
    if problems:
        more = [f"… and {len(problems) - most} more"] if len(problems) > most else []
        raise DataError("\n  ".join([f"{where}: {len(problems)} problem(s)", *problems[:most], *more]))


def _download(config: str) -> Path:
    """The folder of the pinned release with a config's files; those that are missing are downloaded, with retries."""
    from huggingface_hub import HfApi
    from huggingface_hub import snapshot_download

    folder = _PUBLIC_FOLDERS[config]
    name = f"{HUB_REPO} at {HUB_REVISION[:12]}, {folder}"
    patterns = [f"{folder}/*.parquet", f"*/{folder}/*.parquet"]
    fetch = partial(snapshot_download, HUB_REPO, repo_type="dataset", revision=HUB_REVISION, allow_patterns=patterns)
    # What is raised where a hub can't be reached differs between versions of huggingface_hub (types of requests, of
    # httpx and its own, without a common base), so all of it is caught, and told.
    unreachable: Exception | None = None
    try:
        # One short question first: the library itself asks for minutes where nobody answers.
        HfApi().dataset_info(HUB_REPO, revision=HUB_REVISION, timeout=5)
    except Exception as error:
        unreachable = error
    waits = [2, 1]
    while True:
        try:
            return Path(fetch(local_files_only=unreachable is not None))
        except Exception as error:  # noqa: PERF203
            cause = unreachable or error
            if unreachable is not None or not waits:
                raise DataError(f"{name}: can't be had: {type(cause).__name__}: {cause}. {_OFFER}") from cause
            warnings.warn(f"{name}: download broke off ({type(error).__name__}: {error}); going on", stacklevel=2)
            time.sleep(waits.pop())


class Source(NamedTuple):
    """Where an edition of a config comes from; `folder` is None for the Hub."""

    folder: Path | None
    config: str
    edition: str

    @classmethod
    def resolve(cls, config: str, edition: str, data_dir: Folder | None) -> "Source":
        """Choose: the embedded sample; `data_dir`; `MEDGEN_BENCH_DIR`; the Hub."""
        if edition == "sample" and data_dir is None:
            import medgen_card

            return cls(Path(medgen_card.__path__[0]) / "sample", config, edition)
        chosen = data_dir if data_dir is not None else os.environ.get("MEDGEN_BENCH_DIR") or None
        return cls(Path(chosen).expanduser().absolute() if chosen is not None else None, config, edition)

    def shards(self) -> "list[Shard]":
        """All files of the source; from the Hub, those of the config only."""
        from medgen_metrics.sources.files import missing as missing_of

        shards = find_shards(self.folder or _download(self.config))
        if self.folder is None:
            shards = [shard for shard in shards if shard.config == self.config]
        if all(shard.config != self.config for shard in shards):
            raise DataError(f"{self.folder or HUB_REPO}: no records of config {self.config!r}. {_OFFER}")
        if missing := missing_of(shards):
            if self.folder is None:
                raise DataError(
                    f"{self.folder or HUB_REPO}: not downloaded: {missing}. Load again while the Hub can be reached."
                )
            warnings.warn(f"{self.folder or HUB_REPO}: incomplete, without {missing}", stacklevel=2)
        return shards

    def fingerprint(self, shards: "Iterable[Shard]") -> str:
        """Changes whenever the records may: with the files (name, size, time, footer) and with the code that reads."""
        from medgen_metrics import groups
        from medgen_metrics import sources

        code: list[Folder] = [__file__, str(groups.__file__), *sorted(Path(sources.__path__[0]).glob("*.py"))]
        digest = hashlib.sha256(b"".join(Path(path).read_bytes() for path in code))
        if self.folder is None:
            digest.update(f"{HUB_REPO}@{HUB_REVISION}/{self.config}".encode())
        for shard in shards:
            digest.update(shard.stamp().encode())
        return digest.hexdigest()[:32]


# ---- Rows as records -------------------------------------------------------------------------------------------------


def _release_id(shard: "Shard", row: int) -> str:
    """The `sample_id` that the public evaluator's prepared view gives a row of the release."""
    return f"medgen:{_PUBLIC_FOLDERS[shard.config]}:{shard.path.stem}:{row:06d}"


def _image_bytes(row: dict[str, Any], column: str) -> list[bytes]:
    """The images of a row, as files' bytes; ValueError for one without."""
    images = row.get(column) or []
    for image in images:
        if not isinstance(image, dict) or not image.get("bytes"):
            raise ValueError(f"{column}: expected an image's bytes, got {image!r:.80}; embed the image files")
    return [image["bytes"] for image in images]


def task_of(row: dict[str, Any], config: str) -> str:
    """The canonical task of a row of any layout; ValueError where it has none, or one of another config."""
    task = canonical_task(row["task"], row.get("sub_category"), row.get("subtask"))
    if TASKS[task].config != config:
        raise ValueError(f"task {task!r} is one of config {TASKS[task].config!r}, but lies in a file of {config!r}")
    return task


def _record(row: dict[str, Any], config: str) -> dict[str, Any]:
    """A row of any layout, with `id`, `release_id` and `group`, as a record; a null text becomes an empty one."""
    task = task_of(row, config)
    instruction, choices = row["instruction"] or "", row.get("choices")
    if choices is None:
        choices = split_options(instruction)[1] if TASKS[task].answer in ("choice", "blank") else []
    elif len(lettered := _lettered(choices)[0]) == len(choices):
        choices = lettered
    record = {
        **{name: row[name] for name in ("id", "release_id", "group")},
        "task": task,
        "subtask": row.get("subtask") or None,
        "modality": canonical_modality(row["modality"]),
        "instruction": instruction,
        "choices": choices,
        "input_images": _image_bytes(row, "input_images"),
        "source": row.get("source"),
    }
    record |= {"output_images": _image_bytes(row, "output_images")} if config != "vqa" else {}
    return record | ({"answer": row["answer"] or ""} if config != "edit" else {})


# ---- The index of a source: what can only be known from all of its records ------------------------------------------

_INDEX_COLUMNS = ("place", "release_id", "config", "task", "subtask", "modality", "id", "group")


def _index(source: Source, shards: "Sequence[Shard]") -> Any:
    """Ids, groups and taxonomy of all records of the source, in order, as an Arrow table.

    Our own layout carries them. Others have to be read once, which takes minutes for all of the release.
    """
    import pyarrow as pa

    from medgen_metrics.groups import group_records
    from medgen_metrics.groups import perceptual_hash
    from medgen_metrics.sources.files import as_row
    from medgen_metrics.sources.files import read

    ours = shards[0].layout == "ours"
    rows: list[dict[str, Any]] = []
    images: list[list[str]] = []
    hashes: dict[str, bytes | None] = {}
    problems: list[str] = []
    pieces = [piece for shard in shards for piece in shard.pieces]
    total = sum(piece.rows for piece in pieces)
    with (
        datasets.utils.tqdm(total=total, unit=" records", desc="Indexing ids and groups") as bar,
        ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool,
    ):
        for shard, number, raw in read(pieces, _INDEX_COLUMNS if ours else None):
            bar.update()
            try:
                row = as_row(shard, number, raw)
                task = task_of(row, shard.config)
                entry = {name: row.get(name) for name in (*_INDEX_COLUMNS, "position")}
                entry |= {"place": f"{shard.config} {shard.place(number)}", "config": shard.config, "task": task}
                if ours:
                    rows.append(entry)
                    continue
                inputs, outputs = _image_bytes(row, "input_images"), _image_bytes(row, "output_images")
                if not inputs:
                    raise ValueError("input_images: expected one image or more, got none")
                files = {_sha256(data): data for data in (*inputs, *outputs)}
                new = [digest for digest in files if digest not in hashes]
                hashes |= zip(new, pool.map(perceptual_hash, [files[digest] for digest in new]), strict=True)
                entry["id"] = record_id(task, row["instruction"] or "", inputs, outputs)
                entry["release_id"] = row["release_id"] if "position" in row else _release_id(shard, number)
                images.append(list(files))
                rows.append(entry)
            except ValueError as error:
                problems.append(f"{shard.place(number)}: {error}")
    key = "id" if ours else "release_id"
    counts = Counter((row["config"], row[key]) for row in rows)
    for row in rows:  # a name of the folder layout that isn't one record's alone gives way to its place
        if (again := counts[row["config"], row[key]]) > 1 and row["position"]:
            row["release_id"] = row["position"]
        elif again > 1 or not row[key]:
            problems.append(f"{row['place']}: {key} {row[key]!r} stands {again} times; make these data again")
    _raise_problems(source.folder or HUB_REPO, problems)
    if not ours:
        new_ids, groups = number_repeats(row["id"] for row in rows), group_records(images, hashes)
        rows = [{**row, "id": new, "group": group} for row, new, group in zip(rows, new_ids, groups, strict=True)]
    return pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in _INDEX_COLUMNS]))


def _check_edition(source: Source, ours: bool, index: Any) -> None:
    """Whether the source holds the edition that was asked for.

    Counts other than the published ones are a warning, since a part is of use too. `paper` is an error where leaving
    out one task doesn't turn the release into it (an export in our layout may be without that task already). Subtasks
    are counted only where all three configs are at hand, which a download of one config doesn't give.
    """
    are_sample = ours and all(name.startswith("sample:") for name in index["release_id"].to_pylist())
    if are_sample != (source.edition == "sample"):
        held = "the sample's, no part of MedGEN-Bench" if are_sample else "not the sample's"
        raise DataError(f"{source.folder or HUB_REPO}: its records are {held}; edition={source.edition!r} does not fit")
    if are_sample:
        return
    tasks, subtasks, configs = (index[name].to_pylist() for name in ("task", "subtask", "config"))
    inferred = (source.edition, source.config) == ("paper", "gen")
    left_out = tasks.count(RELEASE_ONLY_TASK) if inferred else 0
    if inferred and not (ours and left_out == 0):
        named = {(task, name) for task, name in zip(tasks, subtasks, strict=True) if name and task != RELEASE_ONLY_TASK}
        are_all = set(configs) == set(CONFIGS)
        if left_out != RELEASE_ONLY_RECORDS or (are_all and len(named) != PAPER_SUBTASKS):
            expected = f"if these are {RELEASE_ONLY_RECORDS} records and {PAPER_SUBTASKS} subtasks remain"
            got = f"{left_out} records and {len(named)} subtasks in {', '.join(sorted(set(configs)))}"
            raise DataError(
                f'{source.folder or HUB_REPO}: edition="paper" is inferred: the release without {RELEASE_ONLY_TASK}, '
                f'{expected}; got {got}. edition="release" leaves nothing out.'
            )
    count = configs.count(source.config) - left_out
    wanted = RECORDS[source.config] - (RELEASE_ONLY_RECORDS if inferred else 0)
    if count != wanted:
        found = f"{source.folder or HUB_REPO}: {count} {source.config!r} records"
        warnings.warn(f"{found}; edition {source.edition!r} has {wanted}", stacklevel=2)


# ---- The builder ----------------------------------------------------------------------------------------------------


@dataclass
class MedGenConfig(datasets.BuilderConfig):
    """A config of the data set, with its edition."""

    edition: str = "paper"


class MedGenBench(datasets.GeneratorBasedBuilder):
    """Builder of MedGEN-Bench: `download_and_prepare()`, then `as_dataset(split="test")`.

    Beside the arguments of every builder it takes `edition`. `data_dir` is the folder of a local copy of the release,
    in any of its layouts, or of an export, at any depth; `data_files` is refused.
    """

    BUILDER_CONFIG_CLASS = MedGenConfig
    BUILDER_CONFIGS = tuple(MedGenConfig(name=name, version=datasets.Version("1.0.0")) for name in CONFIGS)
    DEFAULT_WRITER_BATCH_SIZE = 32  # records held in memory before they are written

    def __init__(
        self, cache_dir: str | None = None, *, edition: str = "paper", data_dir: Folder | None = None, **kwargs: Any
    ) -> None:
        """Find the source and look whether its files have changed; DataError where it can't be read."""
        config = kwargs.get("config_name")
        _known("config", config, CONFIGS)
        _known("edition", edition, EDITIONS)
        if kwargs.pop("data_files", None):
            raise DataError(f"{NAME} finds its files by itself: give their folder as data_dir=, not data_files=")
        self.source = Source.resolve(str(config), edition, data_dir)
        self.shards = self.source.shards() if self.source.folder is not None else None
        # The cache's path says what the files hold, not where they lie or by which name they were asked for.
        kwargs |= {"hash": self.source.fingerprint(self.shards or ()), "dataset_name": NAME}
        super().__init__(cache_dir, edition=edition, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        sample = "An illustrative sample, not part of MedGEN-Bench. " if self.source.edition == "sample" else ""
        return datasets.DatasetInfo(
            description=sample + str(__doc__).splitlines()[0], features=features(self.source.config)
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        import pyarrow.parquet as pq

        shards = self.shards if self.shards is not None else self.source.shards()
        ours = shards[0].layout == "ours"
        kept = Path(self._cache_dir_root, f"{NAME}-index", f"{self.hash}.parquet")
        if not kept.is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            unfinished = kept.with_name(f"{kept.name}.{os.getpid()}.tmp")
            pq.write_table(_index(self.source, shards), unfinished)
            unfinished.replace(kept)
        index = pq.read_table(kept)
        # Here, in the main process, so that an unknown spelling is named once and not by each worker.
        for spelling in index["modality"].unique().to_pylist():
            canonical_modality(spelling)
        _check_edition(self.source, ours, index)
        pieces = [piece for s in shards if s.config == self.source.config for piece in s.pieces]
        known = None if ours else index.select(["place", "release_id", "id", "group"])
        return [datasets.SplitGenerator("test", {"pieces": pieces, "edition": self.source.edition, "index": known})]

    def _generate_examples(
        self, pieces: "Sequence[Piece]", edition: str, index: Any
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        from medgen_metrics.sources.files import as_row
        from medgen_metrics.sources.files import read

        known = {row["place"]: row for row in index.to_pylist()} if index is not None else {}
        problems: list[str] = []
        for shard, number, raw in read(pieces):
            try:
                row = as_row(shard, number, raw)
                record = _record(row | known.get(f"{shard.config} {shard.place(number)}", {}), shard.config)
            except ValueError as error:
                problems.append(f"{shard.place(number)}: {error}")
                continue
            if edition != "paper" or record["task"] != RELEASE_ONLY_TASK:
                yield record["id"], record
        _raise_problems(self.source.folder or HUB_REPO, problems)


def load(
    config: str,
    edition: str = "paper",
    data_dir: Folder | None = None,
    split: str | None = "test",
    streaming: bool = False,
    num_proc: int | None = None,
) -> Any:
    """Load a config as `load_dataset("medgen-bench", …)` does, without its registered name.

    Args:
        config: vqa, edit or gen.
        edition: paper, release or sample.
        data_dir: folder of a local copy; default `MEDGEN_BENCH_DIR`, else the Hub.
        split: `test`, a slice of it such as `test[:10]`, or None for a dict of splits.
        streaming: give an `IterableDataset` and copy nothing to the cache. Ids and groups depend on all records, so
            the release is still downloaded and read once before the first record comes.
        num_proc: processes that prepare the data; row groups are shared out.

    Raises:
        DataError: unknown config or edition, no source for it, or bad rows (the first 20 and how many more).
    """
    builder = MedGenBench(config_name=config, edition=edition, data_dir=data_dir)
    if streaming:
        return builder.as_streaming_dataset(split=split)
    builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset(split=split)


# ---- What is called by name: load_dataset("medgen-bench", …) after `import medgen_bench`; metric("pixel", …) ---------


def _register() -> None:
    """Teach `load_dataset` the name, through private names, since `datasets` 4 and later run no loader scripts.

    A release that moves them leaves `load_dataset` as it is, and a warning says what to call instead.
    """
    try:
        import datasets.load as loader
        from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES as registry

        base: Any = loader.PackagedDatasetModuleFactory
        module: Any = loader.DatasetModule
        no_files = loader.DataFilesDict()
    except (ImportError, AttributeError) as error:
        instead = "call medgen_bench.load(config, edition=…) instead of load_dataset"
        warnings.warn(f"datasets {datasets.__version__} can't be taught {NAME!r} ({error}): {instead}", stacklevel=2)
        return

    class Factory(base):
        """Resolves our name to the builder above, and every other name as before."""

        def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
            self.name, self.data_files = name, kwargs.get("data_files")
            if name != NAME:  # the base would tell the Hub that a data set of theirs was loaded
                super().__init__(name, *args, **kwargs)

        def get_module(self) -> Any:
            if self.name != NAME:
                return super().get_module()
            if os.path.isdir(NAME):
                read = f"load_dataset({NAME!r}) reads the data set of the package medgen_bench"
                other = f"not the folder of that name in {os.getcwd()}; for that call load_dataset('./{NAME}')"
                warnings.warn(f"{read}, {other}", stacklevel=5)
            # load_dataset insists on data_files; the builder refuses any but empty ones
            return module(__name__, "", {"dataset_name": NAME, "data_files": self.data_files or no_files})

    if NAME not in registry:
        registry[NAME] = (__name__, "")
        loader.PackagedDatasetModuleFactory = Factory


_register()


def metric(name: str, **options: Any) -> Any:
    """Load an `evaluate` module of the project as installed, `metric("pixel", protocol="standard")`.

    Options are those of `evaluate.load` and of the module. ValueError lists the modules where `name` is none of them.
    """
    import evaluate

    import medgen_metrics

    paths = Path(medgen_metrics.__path__[0]).glob("medgen_*/medgen_*.py")
    folders = {path.parent.name.removeprefix("medgen_"): path.parent for path in paths}
    if name not in folders:
        raise ValueError(f"unknown metric module {name!r}; expected one of {', '.join(sorted(folders))}")
    return evaluate.load(str(folders[name]), **options)
