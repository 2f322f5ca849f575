"""`python -m medgen_scripts` is `medgen-bench`."""

from .cli import main

main()
