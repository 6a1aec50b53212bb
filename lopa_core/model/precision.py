"""The number formats a network may run in, by torch's names: the same for the command line, the workers and the page."""

DTYPES = ("float32", "bfloat16", "float64")
