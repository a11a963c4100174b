"""Answers that come piece by piece, as server-sent events: https://html.spec.whatwg.org/#server-sent-events."""

import json
import logging
from collections.abc import Iterator
from typing import Any

from fastapi.responses import StreamingResponse

from langladder.ground.errors import InputError


def streamed(pieces: Iterator[Any]) -> StreamingResponse:
    """Each piece as an event of JSON, `[DONE]` at the end; an InputError ends them with {"error": {"message"}}."""
    return StreamingResponse(_events(pieces), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _events(pieces: Iterator[Any]) -> Iterator[str]:
    try:
        for piece in pieces:
            yield f"data: {json.dumps(piece, ensure_ascii=False, allow_nan=False)}\n\n"
    except InputError as error:
        yield f"data: {json.dumps({'error': {'message': str(error)}})}\n\n"
    except Exception as error:
        logging.getLogger("uvicorn.error").exception("an answer broke off", exc_info=error)
        yield f"data: {json.dumps({'error': {'message': 'the server failed at this; its terminal says why'}})}\n\n"
    yield "data: [DONE]\n\n"
