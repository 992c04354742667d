"""One record per dialect; see :mod:`fallback.dialects.record`."""
