"""Limits of a decoder's numbers, shared by its configuration and by requests.

This module does not load torch, because the command line reads its options from here before it knows the command.
"""

from typing import Annotated, Literal

from pydantic import Field

Temperature = Annotated[float, Field(ge=0.01, le=100)]
TopK = Annotated[int | None, Field(ge=1)]
TopP = Annotated[float | None, Field(gt=0, le=1)]
RepetitionPenalty = Annotated[float, Field(ge=1, le=100)]
TokenPenalty = Annotated[float, Field(ge=-2, le=2)]
"""Penalty for presence or frequency, as in OpenAI's API."""
LogitBias = Annotated[float, Field(ge=-100, le=100)]
NewTokens = Annotated[int, Field(ge=0, le=100_000)]
Lookahead = Annotated[int, Field(ge=1, le=1000)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
BeamWidth = Annotated[int, Field(ge=1, le=1000)]
"""Also the number of groups, and of returned translations."""
LengthExponent = Annotated[float, Field(ge=0, le=2)]
LengthForm = Literal["power", "gnmt"]
Coverage = Annotated[float, Field(ge=0, le=100)]
Diversity = Annotated[float, Field(ge=0, le=1000)]
FewestTokens = Annotated[int, Field(ge=0, le=10_000)]
MostTokens = Annotated[int, Field(ge=1, le=10_000)]
