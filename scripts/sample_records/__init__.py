"""The embedded sample: its source files, the images cut from them, and the records authored on those."""
