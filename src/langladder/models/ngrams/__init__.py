"""Language models of counted n-grams: one file per smoothing method. All of them result in back-off tables."""
