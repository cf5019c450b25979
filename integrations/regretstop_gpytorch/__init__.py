"""GPyTorch: the surrogate on the field's own library."""
