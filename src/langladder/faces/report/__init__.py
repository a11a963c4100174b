"""Tables, plots and the HTML report."""
