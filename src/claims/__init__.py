"""Claims of the literature, each measured on small networks of its own, or on the trained models of the ladder.

A package like a user's own (docs/own-code.md): `params.yaml` lists it in `plugins`, its choices are in claims/conf, and
langladder does not import it. A claim is a file of conf/claim or conf/probe. Most need no code, because `comparison`
measures what the file declares; the others have a module. The interface and the verdicts are in
`langladder.experiments`.
"""
