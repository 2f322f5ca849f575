"""Running a system over a config: which records, in what order of stages, what is kept, and what is said of it."""
