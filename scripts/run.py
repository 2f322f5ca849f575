"""`medgen-bench run`: a system's outputs, `out/predictions/<system>/<config>.jsonl` and images beside it.

A system is a built-in baseline, one of the package's YAML files or one's own, or a model in a short form. Rows are
appended to a journal as they come; at the end the file is written whole, one row a record in the data set's order. A
run that was stopped continues with the records that have no row yet.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from .errors import UsageError
from .launcher import place
from .launcher import share
from .records import load_records
from .running.options import RunOptions
from .running.options import Shard
from .running.selection import selected
from .systems.file import SystemFile
from .systems.named import named
from .terminal import say


def run(system: str | Path | SystemFile, config: str, **options: Any) -> Path:
    """Run a system over a config.

    Args:
        system: a built-in baseline (`medgen_scripts.systems.SYSTEMS`), a system of the package, a YAML file, or a short
            form (`medgen_scripts.systems.short`).
        config: vqa, edit or gen.
        options: fields of `medgen_scripts.running.options.RunOptions`.

    Returns:
        The predictions file.

    Raises:
        UsageError: bad usage, a config that the system can't serve, or predictions that were made otherwise.
        Failure: predictions can't be written, the run ended before its records did, or nothing but failures came.
    """
    return execute(system, config, RunOptions(**options))


def execute(system: str | Path | SystemFile, config: str, options: RunOptions) -> Path:
    """`run`, its options in one."""
    found = named(system, config)
    options = _shared(options)
    records = load_records(config, options.edition, options.data_dir)
    if isinstance(found, SystemFile):
        from .running.execute import Execution

        execution = Execution(found, records, selected(records, options), options)
        if about := execution.selection.notice(config):
            say(about)
        return execution.run()
    from .running.baseline import BaselineRun

    return BaselineRun(found, records, options).run()


def _shared(options: RunOptions) -> RunOptions:
    """Under a launcher (accelerate, torchrun) each process takes its share, of the records and of what may be spent."""
    here = place()
    if here.size == 1:
        return options
    if options.shard is not None:
        raise UsageError(f"--shard: expected none under a launcher of {here.size} processes, which share the records")
    max_requests, max_cost = share(options.max_requests, options.max_cost, here.size)
    shard = Shard(here.rank + 1, here.size)
    return replace(options, shard=shard, max_requests=max_requests, max_cost=max_cost)
