"""`make bench`: prints the ratios that BENCHMARKS.md records."""

import os
import platform

# One thread, so that ratios compare work and not the scheduler.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from . import export
from . import module
from . import pixel
from . import startup
from . import text
from . import whole


def main() -> None:
    """Run all benchmarks."""
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for section in (startup, text, pixel, module, whole, export):
        print(f"\n{(section.__doc__ or '').splitlines()[0]}")
        for line in section.run():
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
