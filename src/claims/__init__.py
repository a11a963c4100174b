"""Claims of the literature, each measured on small networks of its own, or on the trained models of the ladder.

A package like a user's own (docs/own-code.md): `params.yaml` lists it in `plugins`, its choices are in claims/conf, and
langladder does not import it. A claim is a file of conf/claim or conf/probe, and where no module here measures its
kind, a module. `comparison` measures what a file declares; `langladder.experiments` has the interface and the verdicts.
"""
