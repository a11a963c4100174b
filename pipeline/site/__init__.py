"""The pages of the documentation site that are generated: MkDocs asks for them through scripts/site_hook.py."""
