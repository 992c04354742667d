"""Reading a model's text: sans-IO, linear, precision first. See ARCHITECTURE.md."""
