"""Where the work on a corpus runs: in this process, in processes of this machine, or on a cluster."""
