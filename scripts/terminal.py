"""Texts of data and models as a terminal may print them."""


def printable(text: str, keep: str = "") -> str:
    """`text` with control and bidirectional characters and lone surrogates escaped, but for those in `keep`."""
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )
