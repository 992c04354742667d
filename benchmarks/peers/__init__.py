"""Other parsers of tool calls beside ours, on the same replies: ``python -m benchmarks.peers``."""
