"""Building blocks of networks: cells, attention, masks, feed-forward."""
