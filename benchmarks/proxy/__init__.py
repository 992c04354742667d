"""What the adapter costs, as ratios to talking to its upstream directly; see ``__main__``."""
