"""What a command ends with when it can't do what was asked. Messages say where, expected, got and the remedy."""

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended, as shells have it."""


class UsageError(Exception):
    """Bad usage or input: exit code 2."""


class Failure(Exception):
    """The work itself failed: exit code 1."""
