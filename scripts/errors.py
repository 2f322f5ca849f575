"""What a command ends with when it can't do what was asked. Messages say where, expected, got and the remedy."""


class UsageError(Exception):
    """Bad usage or input: exit code 2."""


class Failure(Exception):
    """The work itself failed: exit code 1."""
