"""What RESULTS.md says of each experiment: a function of the records' folder each, see `section.py`."""
