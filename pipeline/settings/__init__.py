"""Settings, from the user's files to a stage. The path of one value, `lm.lstm.model.width`, to its result:

1. `params` reads params.yaml (the choices); `checks` checks that every name is a file of conf/;
2. `compose` registers params.yaml with Hydra (`prepare`), and lets it compose conf/ with all rungs (`Compositions`);
3. `plan` reads from dvc.yaml which settings each stage needs; `compose.job_values` selects them;
4. `schema` checks them all, a rung's part by its family and class; all errors are reported at once (`errors`);
5. `tracking.code_version` adds the hash of the code behind the job; `resolve` writes resolved/<stage>/<job>.yaml;
6. DVC runs the stage if this file or another dependency has changed;
7. `stage` reads the file again as checked settings, and calls the stage's `main(job, out)`;
8. `tracking.job` hashes settings and inputs: the fingerprint, which names checkpoints, artefact and MLflow run;
9. the library does the work; the artefact's provenance.json holds settings, fingerprint, hashes and lineage;
10. `tracking.run` logs to MLflow meanwhile; `pipeline.runs` finds the run of an artefact.
"""
