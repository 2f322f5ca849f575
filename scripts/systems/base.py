"""What a system is to the runner: a name, what it gives, and an answer a record."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

from ..records import Record

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Response:
    """What a system answers.

    Attributes:
        text: the answer; None where it gives none.
        image: the output picture; None where it gives none.
        meta: what a reader should know about how it came about; JSON-able.
    """

    text: str | None = None
    image: "Image | None" = None
    meta: Mapping[str, Any] = field(default_factory=dict)


class System(Protocol):
    """A system under evaluation.

    Attributes:
        name: as in `out/predictions/<name>`.
        takes, gives: which of `text` and `image`; a config that asks for more is refused before anything is run.
        track: systems of different tracks aren't comparable: `baseline`, later `direct`, `rewrite-then-edit`, ….
        definition: all that determines its answers, JSON-able; a run is continued only under the same one.
    """

    @property
    def name(self) -> str: ...

    @property
    def track(self) -> str: ...

    @property
    def takes(self) -> Sequence[str]: ...

    @property
    def gives(self) -> Sequence[str]: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    def respond(self, record: Record) -> Response:
        """Answer one record; the answer depends on nothing but the record and the definition."""
        ...
