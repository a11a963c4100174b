"""Settings: from what a user writes to what a stage reads. The way of one value, `lm.lstm.model.width`, to its result:

1. `params` reads params.yaml (what is chosen), `checks` that every name is a file of conf/;
2. `compose` has Hydra compose conf/ for each rung, params.yaml's changes on top (`rung_values`);
3. `plan` reads in dvc.yaml which settings each stage reads, `compose.job_values` picks them;
4. `schema` checks them all, a rung's part by its family and class; what is wrong is said at once (`errors`);
5. `tracking.code_version` adds the hash of the code behind the job; `resolve` writes resolved/<stage>/<job>.yaml;
6. DVC runs the stage if what it watches there has changed, or a file that it depends on;
7. `stage` reads the file again as checked settings, and calls the stage's `main(job, out)`;
8. `tracking.job` hashes settings and inputs: the fingerprint, which names checkpoints, artefact and MLflow run;
9. the library does the work; the artefact's provenance.json holds settings, fingerprint, hashes and lineage;
10. `tracking.run` logs to MLflow all the while; `pipeline.runs` finds the way back.
"""
