"""Claims of the literature as measured experiments: one module an experiment, its settings in conf/."""
