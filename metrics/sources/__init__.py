"""Files of the data set, read without knowing its taxonomy: rows come in the columns of the public Parquet release.

`folder` is the older layout with `manifest.json`, `prepared` the public evaluator's view. `medgen_bench` calls `find`
and what is in `files`, and gives ids, groups and canonical names.
"""
