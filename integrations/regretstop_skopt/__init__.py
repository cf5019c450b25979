"""scikit-optimize: a callback that ends a search when it is good enough."""
