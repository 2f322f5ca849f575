"""The VLM judge: rubric, prompt, verdict, cache and the tier over them."""
