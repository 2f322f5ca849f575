"""Which prediction files a `score` call means, and whose they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..jsonl import shorten

CONFIGS = ("vqa", "edit", "gen")
MAX_NAME = 200
"""The most bytes of a system's name: with what is put around it (`.standard.json`) it stays a file name."""

# The public evaluator names its files <models>_vqa.jsonl, <models>_edit.jsonl, <models>_generate.jsonl.
_PUBLIC_NAME = re.compile(r"(?P<system>.+)_(?P<config>vqa|edit|gen|generate)")


@dataclass(frozen=True, slots=True)
class Job:
    """One file of one system's predictions for one config."""

    system: str
    config: str
    path: Path


def jobs(paths: Sequence[Path], config: str | None = None, system: str | None = None) -> list[Job]:
    """Resolve what the user named.

    Args:
        paths: folders `out/predictions/<system>` (every config in them), or single files.
        config: only this config of folders; the config of files whose name doesn't say it.
        system: the system's name, where place or file name don't say it or another is wanted.

    Raises:
        UsageError: every path that is nothing of the kind, in one message.
    """
    found: list[Job] = []
    faults: list[str] = []
    for path in paths:
        try:
            found += [_checked(job) for job in _of(path, config, system)]
        except UsageError as error:  # noqa: PERF203 - every bad path is reported, not the first
            faults.append(str(error))
    seen: dict[tuple[str, str], Path] = {}
    for job in found:
        other = seen.setdefault((job.system, job.config), job.path)
        if other.resolve() != job.path.resolve():
            faults.append(
                f"{job.path} and {other} are both {job.config} predictions of {job.system!r}; "
                f"score them in two calls with --system NAME"
            )
    if faults:
        raise UsageError("\n".join(faults))
    return list({(job.system, job.config): job for job in found}.values())


def _checked(job: Job) -> Job:
    """The job, if its system's name can name files.

    It becomes a folder below `out/scores` and a file in `out/results`: it must not lead out of them, nor hide there.
    """
    name = job.system
    is_sound = name.isprintable() and not name.startswith(".") and not set(name) & set("/\\")
    if not name or not is_sound or len(name.encode("utf-8", "surrogateescape")) > MAX_NAME:
        raise UsageError(
            f"{job.path}: expected a system name of 1 to {MAX_NAME} bytes, printable, without slashes and not "
            f"beginning with a full stop, got {shorten(name)}; name it with --system NAME"
        )
    return job


def _named(system: str | None, name: str) -> str:
    return name if system is None else system


def _of(path: Path, config: str | None, system: str | None) -> list[Job]:
    if path.is_dir():
        wanted = [config] if config is not None else list(CONFIGS)
        inside = [Job(_named(system, path.resolve().name), name, path / f"{name}.jsonl") for name in wanted]
        inside = [job for job in inside if job.path.is_file()]
        if not inside:
            names = ", ".join(f"{name}.jsonl" for name in wanted)
            raise UsageError(
                f"{path}: expected a folder with {names}, got none of them; `medgen-bench run` writes such"
            )
        return inside
    if not path.is_file():
        raise UsageError(f"{path}: expected a predictions folder or a JSONL file, got nothing there")
    if path.stem in CONFIGS:
        # A file in our layout: the folder is the system.
        return [Job(_named(system, path.resolve().parent.name), config or path.stem, path)]
    match = _PUBLIC_NAME.fullmatch(path.stem)
    name = match["system"] if match else path.stem
    said = {"generate": "gen"}.get(match["config"], match["config"]) if match else None
    if config is None and said is None:
        raise UsageError(
            f"{path}: expected a name that ends in _vqa, _edit or _generate, or --config, got {path.name!r}; "
            f"add --config vqa|edit|gen"
        )
    return [Job(_named(system, name), config or said or "", path)]
