"""Models over HTTP: an API for the clients of others, and the server of the explorer."""
