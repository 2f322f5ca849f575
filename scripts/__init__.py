"""The command line of medgen-bench, one file a verb."""
