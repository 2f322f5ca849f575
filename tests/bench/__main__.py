"""`make bench`: prints the ratios that BENCHMARKS.md records."""

import os
import platform
import subprocess
import sys
from importlib import import_module

# One thread, so that ratios compare work and not the scheduler.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

SECTIONS = (
    "startup",
    "text",
    "pixel",
    "module",
    "whole",
    "several",
    "scale",
    "remote",
    "tables",
    "judge",
    "run",
    "export",
)


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all, each in a process of its own.

    A child's peak memory counts from its parent's on some systems, and one section's models would slow the next.
    """
    if len(names) == 1:
        section = import_module(f".{names[0]}", __package__)
        print(f"\n{(section.__doc__ or '').splitlines()[0]}", flush=True)
        for line in section.run():
            print(f"  {line}", flush=True)
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name in names or SECTIONS:
        subprocess.run([sys.executable, "-W", "ignore", "-m", __package__ or "", name], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
