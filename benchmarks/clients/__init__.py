"""Clients that other people wrote, in front of the adapter, with a scripted model behind it."""
