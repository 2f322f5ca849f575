"""The embedded sample edition: Parquet files, their lock file and sources."""
