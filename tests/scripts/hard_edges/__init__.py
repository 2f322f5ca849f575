"""Bad input through the real command line: no traceback, nothing dropped in silence, a message or a reason."""
