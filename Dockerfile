# langladder with everything that a checkout needs: `make repro`, `langladder …`, MLflow, as a user without rights.
#   docker build -t langladder .                            # PyTorch for processors
#   docker build -t langladder --build-arg TORCH=cuda .     # for NVIDIA GPUs: three gigabytes more
# docs/installing.md says how it is run and how results come out.
# Tag and digest of the base: the digest decides, so raise both together to take Debian's and Python's corrections.
ARG PYTHON=3.12.14-slim-bookworm@sha256:392307d22300de8b5986851a12d9176dfc0fc073e65bf6523ebd7dcbeb23564e

FROM python:${PYTHON} AS environment
ARG TORCH=cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /ladder
# what the locks say first: an edit of the code installs nothing anew
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY scripts/install.py scripts/
COPY src/langladder/__init__.py src/langladder/
RUN python scripts/install.py .venv requirements.lock --torch "${TORCH}"

FROM python:${PYTHON}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 ladder \
    && install -d -o ladder -g ladder /ladder
WORKDIR /ladder
COPY --from=environment --chown=ladder:ladder /ladder/.venv .venv
COPY --chown=ladder:ladder . .
USER 1000
ENV PATH=/ladder/.venv/bin:$PATH \
    DVC_NO_ANALYTICS=1 DO_NOT_TRACK=1 MLFLOW_DISABLE_TELEMETRY=true HF_HUB_DISABLE_TELEMETRY=1
# the image has no history: DVC keeps its hashes without git; nothing is to be installed
RUN dvc config --local core.no_scm true && touch .venv/ready
CMD ["make", "repro"]
