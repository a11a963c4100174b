"""Claims of the literature as experiments: one module per experiment, its settings in conf/."""
