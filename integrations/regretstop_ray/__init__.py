"""Ray Tune: a GP-UCB searcher, and a stopper that ends an experiment when it is good enough."""
