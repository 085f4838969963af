"""Traces: the file format, masks, and what `lacuna.simulate` takes for a trace."""
