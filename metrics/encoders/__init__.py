"""Image encoders of the embedding tier, behind one interface: `base.Encoder`, had through `finding.find`."""
