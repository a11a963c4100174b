"""Requests drawn from an application's own description of itself: each gets an answer that it describes."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings

EXAMPLES = 10  # of each path, and as many that break the description


def answered_as_described(app: FastAPI, change: Callable[[str, dict[str, Any]], None], strict: bool = True) -> set[str]:
    """Send each path of an application requests that its description allows and forbids; return the paths.

    Args:
        change: path, body → changes the body in place, so that its answer takes milliseconds.
        strict: whether all that the description forbids is refused; else it is only answered.
    """
    import schemathesis

    checks = schemathesis.checks
    wanted = [checks.not_a_server_error, checks.status_code_conformance, checks.content_type_conformance]
    wanted += [checks.response_schema_conformance, *([checks.negative_data_rejection] if strict else [])]
    paths = set()
    described = schemathesis.openapi.from_asgi("/openapi.json", app)
    for operation in (operation.ok() for operation in described.get_all_operations()):
        paths.add(operation.path)
        modes = schemathesis.GenerationMode
        for mode in modes if list(operation.body) else [modes.POSITIVE]:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            def check_case(case: Any) -> None:
                if isinstance(case.body, dict):
                    change(case.path, case.body)
                case.call_and_validate(checks=wanted, timeout=120)  # the first answer imports a lot

            check_case()
    return paths
