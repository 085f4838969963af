"""Feed-forward blocks whose hidden values are mostly zero."""
