"""`medgen-bench export`: the data set as a folder of Parquet and a card, which `datasets` alone can load."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .atomic import write_text
from .errors import Failure
from .errors import UsageError
from .export_card import card
from .export_shards import Written
from .export_shards import write_shards
from .lock import hold
from .progress import progress
from .records import IMAGE_COLUMNS
from .records import check_names

FORMAT = "medgen-bench/export@1"
MANIFEST = "export.json"


def export(
    out: Path = Path("medgen-bench"),
    *,
    edition: str = "paper",
    data_dir: Path | None = None,
    configs: Sequence[str] = (),
) -> Path:
    """Write an edition in the project's own layout.

    Args:
        out: the folder to write. It is replaced where it is an earlier export, and nothing else is in it.
        edition: paper, release or sample.
        data_dir: folder of a local copy; default `MEDGEN_BENCH_DIR`, else the Hub.
        configs: which of vqa, edit, gen; default all.

    Returns:
        The folder, `out`.

    Raises:
        UsageError: bad usage, no source, a folder that is no export, or another export into it at this moment.
        Failure: it can't be written. What was there before is still there.
    """
    import medgen_bench

    chosen = [name for name in medgen_bench.CONFIGS if not configs or name in configs]
    for name in configs or chosen:
        check_names(name, edition)
    _check_target(out)
    source = data_dir if data_dir is not None else os.environ.get("MEDGEN_BENCH_DIR") or None
    if edition != "sample" and source is not None:
        _check_apart(out, Path(source))
    place = out.absolute()
    work = place.parent / f".{place.name[:200]}.exporting"
    held = hold(work, "export", f"exporting {out.name}", "name another folder")
    try:
        finished = work / "new"
        # What a killed export left; nobody else writes here while the lock is held.
        shutil.rmtree(finished, ignore_errors=True)
        finished.mkdir()
        written = {config: _config(config, edition, data_dir, finished / config) for config in chosen}
        _describe(finished, written, edition)
        _check_target(out)
        _replace(place, finished, work / "old")
    except OSError as error:  # Arrow's errors of files are OSErrors too
        raise Failure(
            f"{out}: can't be written: {error.strerror or error}; make room, or name another folder"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        held.release()
    _tell(out, written, edition)
    return out


def _check_target(out: Path) -> None:
    """Whether `out` may be written: absent, empty, or an earlier export with nothing of anyone else's in it."""
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise UsageError(f"{out}: expected a folder, or nothing there yet, got something else; name another folder")
    inside = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir() or path.is_symlink()}
    if not inside:
        return
    known = _files_of(out / MANIFEST)
    if known is None:
        raise UsageError(
            f"{out}: not written by `medgen-bench export` (no {MANIFEST} of format {FORMAT}), so it is not replaced; "
            f"name another folder"
        )
    if strange := sorted(inside - known):
        raise UsageError(
            f"{out}: an earlier export with {len(strange)} file(s) that it did not write ({', '.join(strange[:3])}), "
            f"so it is not replaced; move them away, or name another folder"
        )


def _files_of(manifest: Path) -> set[str] | None:
    """The files that an export's manifest lists, with itself; None where there is no such manifest."""
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
        if content["format"] == FORMAT:
            return {MANIFEST, *content["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def edition_of(folder: Path) -> str | None:
    """The edition of which a folder is an export, as its manifest says; None where it is no export."""
    if _files_of(folder / MANIFEST) is None:
        return None
    edition = json.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("edition")
    return edition if isinstance(edition, str) else None


def _check_apart(out: Path, source: Path) -> None:
    """The source must not be replaced by what is read from it, nor the export lie in it and be read with it."""
    ours, theirs = out.resolve(), source.expanduser().resolve()
    if ours == theirs or ours in theirs.parents or theirs in ours.parents:
        raise UsageError(
            f"{out}: expected a folder apart from the one that is read, {source}; export beside it, then rename"
        )


def _config(config: str, edition: str, data_dir: Path | None, folder: Path) -> Written:
    """Write one config's shards."""
    import medgen_bench

    with progress(f"export {config}", None) as advance:

        def counted() -> Iterator[Mapping[str, Any]]:
            for row in _stream(config, edition, data_dir):
                yield row
                advance()

        return write_shards(counted(), medgen_bench.features(config), folder)


def _stream(config: str, edition: str, data_dir: Path | None) -> Iterator[Mapping[str, Any]]:
    """Records one by one, images as they are stored.

    Raises:
        UsageError: no source, bad rows, or a file that can't be read through.
    """
    import datasets
    import pyarrow as pa

    import medgen_bench

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    folder = None if data_dir is None else str(data_dir)
    stored = datasets.List(datasets.Image(decode=False))
    try:
        stream = medgen_bench.load(config, edition=edition, data_dir=folder, streaming=True)
        for name in set(IMAGE_COLUMNS) & set(medgen_bench.features(config)):
            stream = stream.cast_column(name, stored)
        yield from stream
    except medgen_bench.DataError as error:
        raise UsageError(str(error)) from error
    except (OSError, pa.ArrowException) as error:
        where = folder or os.environ.get("MEDGEN_BENCH_DIR") or edition
        raise UsageError(
            f"{where}: {config} can't be read: {str(error).strip()}; `medgen-bench validate` names the file"
        ) from error


def _describe(folder: Path, written: Mapping[str, Written], edition: str) -> None:
    """Add the card, the manifest and, for the sample, whose pictures these are."""
    import medgen_bench
    from medgen_metrics import __version__

    sizes = {
        config: sum((folder / config / name).stat().st_size for name in shards.files)
        for config, shards in written.items()
    }
    features = {config: medgen_bench.features(config) for config in written}
    write_text(folder / "README.md", card(written, features, sizes, edition))
    others = ["README.md"]
    if edition == "sample":
        import medgen_card

        shutil.copyfile(Path(medgen_card.__path__[0]) / "sample" / "SOURCES.md", folder / "SOURCES.md")
        others.append("SOURCES.md")
    manifest = {
        "format": FORMAT,
        "edition": edition,
        "version": __version__,
        "records": {config: shards.records for config, shards in written.items()},
        "files": [*others, *(f"{config}/{name}" for config, shards in written.items() for name in shards.files)],
    }
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")


def _replace(place: Path, finished: Path, aside: Path) -> None:
    """Put the finished folder in its place; an earlier export steps aside until it is there."""
    if not place.exists():
        finished.rename(place)
        return
    place.rename(aside)
    try:
        finished.rename(place)
    except OSError:
        aside.rename(place)
        raise


def _tell(out: Path, written: Mapping[str, Written], edition: str) -> None:
    for config, shards in written.items():
        files = "1 file" if len(shards.files) == 1 else f"{len(shards.files)} files"
        print(f"{out / config}: {shards.records:,} records, {shards.images:,} images, {files}")
    first = next(iter(written))
    call = f'load_dataset({"./" + out.name!r}, "{first}", split="test")'.replace("'", '"')
    print(f"In {out.absolute().parent}: {call}; with this project: --data-dir {out} --edition {edition}")
