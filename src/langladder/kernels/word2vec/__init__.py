"""word2vec's training loops: skip-gram and CBOW, with sampled noise words or hierarchical softmax."""
