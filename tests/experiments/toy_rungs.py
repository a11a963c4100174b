"""A small classifier as a file of conf/ describes it, for experiments that train rungs."""

MEAN = {
    "name": "mean_embedding",
    "title": "Mean",
    "_target_": "langladder.models.classification.mean_embedding.MeanEmbedding",
    "model": {"embedding_dim": 12, "width": 12},
    "training": {"lr": 0.02, "max_steps": 10},
}
