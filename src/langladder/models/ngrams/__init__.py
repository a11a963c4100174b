"""Language models of counted n-grams: one file a way of smoothing, all of them back-off tables in the end."""
