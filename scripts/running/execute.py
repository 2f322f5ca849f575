"""A system of models over a config: from the records to the predictions file."""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.loop import LoopThread
from medgen_metrics.serving.redact import Redactor
from medgen_metrics.serving.redact import guard_logs

from ..backends import base
from ..backends.base import Backend
from ..errors import Failure
from ..errors import UsageError
from ..records import Records
from ..subset import Subset
from ..systems.component import WHERE
from ..systems.file import SystemFile
from ..terminal import say
from . import admission
from . import images
from . import prompts
from .account import Account
from .account import header
from .log import RequestLog
from .manifest import Entry
from .manifest import Manifest
from .manifest import about_run
from .manifest import changes
from .options import RunOptions
from .pipeline import Busy
from .pipeline import Pipeline
from .plan import asked
from .plan import tell_plan
from .selection import share
from .stages import Asking
from .store import Store
from .store import Written
from .telling import Teller
from .telling import tell_failed
from .telling import telling
from .work import Work
from .work import draft_of
from .work import seed_of

BLIND = "-blind"
"""What a system's name ends in when it was not given the images."""


class Execution:
    """One run.

    Args:
        system: what is run.
        records: of the config.
        selection: of them.
        options: see `RunOptions`.

    Raises:
        UsageError: the system can't be run so; nothing was sent.
    """

    def __init__(self, system: SystemFile, records: Records, selection: Subset, options: RunOptions) -> None:
        self.system = system
        self.records = records
        self.selection = selection
        self.options = options
        self.config = records.config
        self.name = system.name + (BLIND if options.blind else "")
        self.templates = prompts.load(system.prompts)
        self.roles = system.roles(self.config)
        admission.check(system, self.config, self.roles, options)
        self.redact = Redactor(admission.secrets(system))
        self.budget = admission.budget_of(system, self.roles, options)
        self.store = Store(options.out / "predictions" / self.name, records, options.shard)
        self.manifest = Manifest(self.store.folder, header(system, self.name, blind=options.blind))

    def run(self) -> Path:
        """Ask for all that has no answer yet.

        Returns:
            The predictions file.

        Raises:
            UsageError: predictions of another definition are there, or of somebody else.
            Failure: the run ended before its records did, or nothing but failures came.
        """
        if self.options.dry_run:
            self.store.read()
            tell_plan(self.name, self._asking({}), self._works(self._todo()), self.budget, self._counts())
            return self.store.path
        self.store.hold()
        try:
            return self._run()
        finally:
            self.store.release()

    def _run(self) -> Path:
        guard_logs(self.redact)
        backends = {role: self._backend(role) for role in self.roles}
        self._identity = self._identify(backends)
        self._take_over()
        positions = self._todo()
        self._tell_kept()
        if not positions and self.store.is_whole:
            return self.store.path
        log = None
        if self.options.log_requests:
            log = RequestLog(self.store.folder / f"{self.config}.requests.jsonl", self.redact)
        account = Account(self.manifest, self.config)
        account.begins(
            about_run(self.selection, self.records.edition, len(self.records)),
            self._identity,
            self.templates,
            {role: backend.describe() for role, backend in backends.items()},
            shard=None if self.options.shard is None else str(self.options.shard),
            # shares that start together find no rows of each other's, and are one run
            anew=self.options.shard is None and not self.store.has_any,
        )
        thread = LoopThread("medgen-run")
        ended, tell = "interrupted", None
        try:
            asking = self._asking(backends, log)
            with telling(f"{self.name} {self.config}", len(positions), lambda: self.budget.used.cost) as tell:
                stopped = thread.run(self._drive(asking, backends, positions, tell))
            ended = "finished" if stopped is None else f"stopped: {self.redact(stopped.message, 1000)}"
        except Exception:
            ended = "failed"
            raise
        finally:
            thread.close()
            if log is not None:
                log.close()
            answered, failed = (0, Counter[str]()) if tell is None else (tell.answered, tell.kinds)
            account.ended(ended, answered, failed, self.budget.used)
        written = self.store.finish()
        account.wrote(written)
        self._tell_end(written, stopped is None)
        if stopped is not None:
            raise Failure(f"{self.store.path}: {self.redact(stopped.message, 1000)}")
        return self.store.path

    async def _drive(
        self, asking: Asking, backends: Mapping[str, Backend], positions: Sequence[int], tell: Teller
    ) -> RunStopped | None:
        async def keep(work: Work) -> None:
            await self._keep(work, tell)

        # a model has as many records in hand as it takes requests
        stages = [Busy(stage, backends[stage.role].concurrency) for stage in asking.stages]
        pipeline = Pipeline(stages, keep, self.redact)
        self.store.open()
        try:
            await pipeline.run(self._works(positions))
        finally:
            with anyio.CancelScope(shield=True):
                for backend in backends.values():
                    await backend.aclose()
        return pipeline.stopped

    def _works(self, positions: Sequence[int]) -> Iterator[Work]:
        for position in positions:
            record = self.records[position]
            work = Work(record, seed_of(self.options.seed, record.id))
            draft = self.store.draft(record.id)
            earlier = self.store.earlier(record.id)
            if earlier is not None and earlier.failed:
                work.attempts = earlier.attempts
                draft = draft_of(self.store.row(record.id)) or draft
            if draft is not None and "image" in self.roles:
                work.take_draft(draft)
            yield work

    async def _keep(self, work: Work, tell: Teller) -> None:
        if work.stopped:
            if work.draft is not None and not work.drafted:
                self.store.add(self._masked({"id": work.record.id, "draft": work.draft}))
            return
        name = None
        if work.image is not None and work.error is None:
            name = await self._keep_image(work, work.image)
        row = self._masked(work.row(name))
        self.store.add(row)
        tell.ended(work.error["kind"] if work.error else None)

    async def _keep_image(self, work: Work, data: bytes) -> str | None:
        try:
            kept = await anyio.to_thread.run_sync(images.keep, data, work.record.input_images)
        except images.BadImage as error:
            work.fail(error.kind, str(error))
            return None
        work.meta |= {"image_sha256": kept.digest, "image_size": list(kept.size), "image_format": kept.received}
        if kept.flags:
            work.meta["flags"] = list(kept.flags)
        return await anyio.to_thread.run_sync(self.store.add_image, work.record.id, kept.png)

    def _masked(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row without the run's secrets, should a server have told them back."""

        def mask(value: Any) -> Any:
            if isinstance(value, str):
                return self.redact.mask(value)
            if isinstance(value, dict):
                return {name: mask(entry) for name, entry in value.items()}
            return [mask(entry) for entry in value] if isinstance(value, list) else value

        return {name: mask(value) for name, value in row.items()}

    def _backend(self, role: str) -> Backend:
        component = self.system.components[role]
        if self.options.max_attempts is not None:
            component = component.model_copy(update={"attempts": self.options.max_attempts})
        is_second = role == "image" and len(self.roles) > 1
        limit = self.options.image_concurrency if is_second else self.options.concurrency
        return base.make(component, base.Options(budget=self.budget, concurrency=limit))

    def _asking(self, backends: Mapping[str, Backend], log: RequestLog | None = None) -> Asking:
        return Asking(self.system, self.config, self.templates, backends, blind=self.options.blind, log=log)

    # ---- what was there before ---------------------------------------------------------------------------------------

    def _identify(self, backends: Mapping[str, Backend]) -> Entry:
        """All that determines the answers."""
        components = {
            role: {name: value for name, value in backend.describe().items() if name not in WHERE}
            for role, backend in backends.items()
        }
        return {
            "shape": self.system.shape,
            "components": components,
            "prompts": self.templates.digest,
            "seed": self.options.seed,
            "blind": self.options.blind,
        }

    def _take_over(self) -> None:
        """Read what is there, if it may be continued."""
        entry = self.manifest.entry(self.config)
        if self.options.fresh:
            aside = self.store.set_aside()
            if aside is not None:
                say(f"{self.store.path}: put aside as {aside.name}; starting anew")
            return
        self.store.refuse_others(entry)
        self.store.read()
        if entry is not None and self.store.has_any:
            was = {"edition": entry.get("edition"), **(entry.get("system") or {})}
            differing = changes(was, {"edition": self.records.edition, **self._identity})
            if differing:
                raise UsageError(
                    f"{self.store.path}: its rows were made otherwise: {'; '.join(differing)}. They may have been paid "
                    f"for and aren't replaced: give another --out, or --fresh to put them aside and start anew"
                )
        if outside := self.store.outside:
            raise UsageError(
                f"{self.store.path}: {outside} rows are of records that the data doesn't hold; expected the data that "
                f"they were made from. Give it with --data-dir, or another --out, or --fresh to put them aside"
            )

    def _todo(self) -> Sequence[int]:
        found = []
        for position in share(self.selection.positions, self.options):
            place = self.store.earlier(self.records.ids[position])
            if place is None or (place.failed and self._again(place.attempts)):
                found.append(position)
        return found

    def _again(self, attempts: int) -> bool:
        most = self.options.max_attempts
        return self.options.retry_failed and (most is None or attempts < most)

    def _counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for position in share(self.selection.positions, self.options):
            place = self.store.earlier(self.records.ids[position])
            counts["selected"] += 1
            counts["answered"] += place is not None and not place.failed
            counts["failed"] += place is not None and place.failed
        return counts

    def _tell_kept(self) -> None:
        counts = self._counts()
        if counts["failed"] and not self.options.retry_failed:
            say(f"{self.store.path}: {counts['failed']:,} failed rows of before stay; --retry-failed tries them again")

    # ---- what is told ------------------------------------------------------------------------------------------------

    def _tell_end(self, written: Written, is_whole: bool) -> None:
        used = self.budget.used
        served = all(self.system.components[role].backend not in base.IN_PROCESS for role in self.roles)
        spent = f"; {asked(used.requests, served)}" if used.requests else ""
        spent += f", ${used.cost:,.4f}" if used.cost else ""
        say(f"{self.store.path}: {written.rows:,} rows, {written.failed:,} of them failed{spent}")
        tell_failed(self.store.path, written, "--retry-failed tries them again", may_fail=is_whole)
