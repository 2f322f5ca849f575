"""What is told beside the output, and texts of data and models as a terminal may print them."""

import sys


def say(message: str) -> None:
    """Tell the person at the terminal, on standard error."""
    print(f"medgen-bench: {message}", file=sys.stderr)


def printable(text: str, keep: str = "") -> str:
    """`text` with control and bidirectional characters and lone surrogates escaped, but for those in `keep`."""
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
