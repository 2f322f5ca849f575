"""The data set card and the embedded sample; data only."""
