"""From predictions to rows to a result file; `scripts/score.py` is the verb."""
