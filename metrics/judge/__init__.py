"""The VLM judge: rubric, prompt, verdict, cache and the tier over them."""

URL_VARIABLE = "MEDGEN_JUDGE_URL"
"""The environment variable with the base URLs of the judge's servers, separated by commas."""
