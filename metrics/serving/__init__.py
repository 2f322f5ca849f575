"""Calls to model servers: scheduling, retries and budgets, shared by the judge and the runner of systems."""
