"""What goes wrong with files behind a URL, told in one sentence with what to do about it."""

import re

from langladder.ground.errors import InputError

_PACKAGES = {"s3": "'langladder[cluster]'", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_CREDENTIALS = {
    "s3": "; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, the server from "
    "AWS_ENDPOINT_URL (unset: Amazon's); FSSPEC_S3_ANON=true reads a public bucket without any",
    "gs": "; credentials come from GOOGLE_APPLICATION_CREDENTIALS or `gcloud auth application-default login`",
    "hf": "; credentials come from HF_TOKEN or `hf auth login`",
}


def without_secrets(text: str) -> str:
    """A text whose URLs have lost what may be secret: user and password, the values of the query."""
    text = re.sub(r"\b([a-z][a-z0-9+.-]*://)[^/?#\s]*@", r"\1", text, flags=re.IGNORECASE)
    return re.sub(r"\b([a-z][a-z0-9+.-]*://[^?\s'\"]*)\?[^\s'\")]+", r"\1?…", text, flags=re.IGNORECASE)


def missing(error: BaseException) -> bool:
    """Whether a server has said that there is nothing; a web server that was not reached says the same by its cause."""
    cause = error.__cause__
    return cause is None or getattr(cause, "status", getattr(cause, "errno", 404)) in (404, 410) or cause is error


def told(url: str, error: BaseException) -> InputError:
    """What went wrong with a URL, in a sentence."""
    if isinstance(error, InputError):
        return error
    scheme, url = url.partition("://")[0], without_secrets(url)
    said = without_secrets((str(error) or type(error).__name__).splitlines()[0])[:200]
    if isinstance(error, ImportError):
        package = _PACKAGES.get(scheme, "what it names")
        return InputError(f"{url}: {scheme}:// needs a package that is not installed ({said}); pip install {package}")
    if isinstance(error, FileNotFoundError) and missing(error):
        return InputError(f"{url}: no such file, folder or bucket")
    if isinstance(error, ValueError) and "Protocol not known" in said:
        return InputError(f"{url}: {scheme}:// is not read; s3://, gs://, https:// and hf:// are, or a path")
    if isinstance(error, PermissionError) or "Credential" in type(error).__name__:
        return InputError(f"{url}: access is refused ({said}){_CREDENTIALS.get(scheme, '')}")
    if isinstance(error, FileNotFoundError):
        said = without_secrets(str(error.__cause__))[:200]
    return InputError(f"{url}: cannot be read ({said})")
