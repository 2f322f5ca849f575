"""Systems under evaluation that ship with the package."""
