"""`python -m tests.readme` puts into the README what `medgen-bench demo` prints on a machine without weights."""

import contextlib
import io
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- demo:[^\n]*\n```text\n)(.*?)(```\n)", re.DOTALL)


def demo_tables(out: Path) -> list[str]:
    """The tables that `demo` prints, without their feet; weights that this machine may have are not used."""
    from medgen_metrics import weights
    from medgen_scripts.demo import demo

    printed = io.StringIO()
    here = dict(weights.REGISTRY)
    columns = os.environ.get("COLUMNS")
    weights.REGISTRY.update({name: replace(entry, find=lambda: None) for name, entry in here.items()})
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(printed):
            demo(out=out, offline=True)
    finally:
        weights.REGISTRY.update(here)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return tables(printed.getvalue())


def tables(printed: str) -> list[str]:
    """Heads and rows of printed tables; a foot is indented by two."""
    lines = [line.rstrip() for line in printed.splitlines()]
    kept = [line for line in lines if not line.startswith("  ") or re.fullmatch(r" {8,}\S+(?: +\S+)*", line)]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return text.splitlines()


def shown() -> list[str]:
    """The README's block."""
    found = BLOCK.search(README.read_text("utf-8"))
    assert found is not None
    return found[2].splitlines()


def main() -> None:
    """Write the block."""
    with tempfile.TemporaryDirectory() as folder:
        block = "\n".join(demo_tables(Path(folder))) + "\n"
    README.write_text(BLOCK.sub(lambda found: found[1] + block + found[3], README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
