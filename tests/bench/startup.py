"""Start-up: what importing the data set adds to `import datasets`, and `medgen-bench --help`."""

import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator

from .timing import interleaved


def _python(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)


def run() -> Iterator[str]:
    """Seconds added and in all."""
    timings = interleaved(
        {
            "datasets": (_python("-c", "import datasets"), 1),
            "medgen_bench": (_python("-c", "import datasets; import medgen_bench"), 1),
            "help": (_python("-m", "medgen_scripts", "--help"), 1),
        }
    )
    added = timings["medgen_bench"].median - timings["datasets"].median
    yield f"import medgen_bench adds {added:.3f} s to import datasets ({timings['datasets'].median:.2f} s)"
    yield f"medgen-bench --help takes {timings['help'].median:.2f} s in all"
