"""The requests of clients, in OpenAI's format; those about tokens in vLLM's format.

An option that is `null` has its default, as in OpenAI's schema. Unknown options are refused. Some of OpenAI's options
have no effect here but are accepted: `user`, and those that the classes list as ignored. The bias and the penalties are
those of `decoding.sampling`.
"""

import secrets
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator

from langladder.answers.requests import sampling_at
from langladder.decoding.limits import LogitBias, TokenPenalty
from langladder.decoding.sampling import SamplingConfig
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Message, check_messages

MOST_CHARACTERS = 100_000  # in a prompt, a dialogue, a text
MOST_TOKENS = 4096  # new tokens of a choice
MOST_STOPS = 4
MOST_LIKELIEST = 20
MOST_BIASES = 1024

Ids = list[Annotated[int, Field(ge=0, lt=2**31)]]
Bias = dict[Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})$")], LogitBias]


# Options of OpenAI that are not supported, and that its clients send as null.
NOT_OFFERED = frozenset(
    [
        "audio",
        "function_call",
        "functions",
        "metadata",
        "modalities",
        "parallel_tool_calls",
        "prediction",
        "reasoning_effort",
        "response_format",
        "service_tier",
        "store",
        "tool_choice",
        "tools",
        "verbosity",
        "web_search_options",
    ]
)


class OpenAIRequest(BaseModel):
    """Base of requests: `null` means the default, unknown options are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        known = cls.model_fields.keys() | NOT_OFFERED
        return {key: value for key, value in values.items() if value is not None or key not in known}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema, in which each option with a default can be null."""
        schema = handler(core_schema)
        described = handler.resolve_ref_schema(schema)
        for name, option in described["properties"].items():
            if name not in described.get("required", ()):
                values = {key: option.pop(key) for key in [*option] if key not in ("title", "default", "description")}
                option["anyOf"] = [values, {"type": "null"}]
        return schema


def texts_or_ids(prompts: str | list[str] | list[int] | list[list[int]]) -> list[str | list[int]]:
    """One or several texts or id lists, always as a list."""
    if isinstance(prompts, str):
        return [prompts]
    if prompts and isinstance(prompts[0], int):
        return [prompts]
    return cast(list[str | list[int]], prompts)


class StreamOptions(OpenAIRequest):
    """Options of streaming; `include_obfuscation` is ignored."""

    include_usage: bool = False
    include_obfuscation: bool = False


class DrawingRequest(OpenAIRequest):
    """How a text is sampled: temperature 0 takes the likeliest token. Ignored: `user`."""

    model: str
    temperature: float = Field(default=1.0, ge=0, le=100)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: Annotated[int, Field(ge=1, le=2**31)] | None = None  # which OpenAI's lacks
    presence_penalty: TokenPenalty = 0.0
    frequency_penalty: TokenPenalty = 0.0
    logit_bias: Bias = Field(default_factory=dict, max_length=MOST_BIASES)
    n: int = Field(default=1, ge=1, le=128)
    stream: bool = False
    stream_options: StreamOptions | None = None
    stop: str | list[str] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None  # None: a new one for each request
    user: str | None = None

    @model_validator(mode="after")
    def _streams(self) -> Self:
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options: allowed only if stream is true")
        return self

    @property
    def stops(self) -> list[str]:
        """Texts that end a continuation."""
        return [self.stop] if isinstance(self.stop, str) else list(self.stop or [])

    @property
    def likeliest(self) -> int | None:
        """How many of the likeliest tokens to list at each position; None: no log-probabilities."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse unsupported options.

        Raises:
            InputError: names the key, its value and what is allowed.
        """
        if len(self.stops) > MOST_STOPS or not all(self.stops):
            raise InputError(f"stop: allowed are up to {MOST_STOPS} texts, none of them empty")

    def sampling(self, max_tokens: int) -> SamplingConfig:
        """The sampling settings; temperature 0 is greedy."""
        return sampling_at(
            self.temperature,
            top_p=None if self.top_p == 1 else self.top_p,
            top_k=self.top_k,
            logit_bias={int(token): value for token, value in self.logit_bias.items()},
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            max_tokens=max_tokens,
            seed=secrets.randbits(62) if self.seed is None else self.seed % 2**63,
        )


class CompletionRequest(DrawingRequest):
    """A text to continue; see `DrawingRequest`."""

    prompt: str | list[str] | Ids | list[Ids] = ""
    max_tokens: int = Field(default=16, ge=0, le=MOST_TOKENS)
    logprobs: Annotated[int, Field(ge=0, le=MOST_LIKELIEST)] | None = None
    echo: bool = False
    best_of: int | None = None
    suffix: str | None = None

    @property
    def likeliest(self) -> int | None:
        return self.logprobs

    def check(self) -> None:
        super().check()
        if self.suffix:
            raise InputError("suffix: not supported; these models read from left to right")
        if self.best_of not in (None, self.n):
            raise InputError(f"best_of: {self.best_of} is not supported; leave it out, or set it to n={self.n}")


class Part(OpenAIRequest):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(OpenAIRequest):
    """A turn. Ignored: `name`, `refusal`, `annotations`, which OpenAI's answers have."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part]
    name: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None

    def message(self) -> Message:
        """The message for the chat template."""
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return Message("system" if self.role == "developer" else self.role, text.strip())


class ResponseFormat(OpenAIRequest):
    """The format of an answer: only text."""

    type: Literal["text"]


class ChatRequest(DrawingRequest):
    """A dialogue whose next turn is requested; see `DrawingRequest`.

    Ignored: `metadata`, `store`, `service_tier`, `safety_identifier`, `prompt_cache_key`, `parallel_tool_calls`.
    """

    messages: list[ChatMessage]
    max_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None  # its newer name
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=MOST_LIKELIEST)] | None = None
    response_format: ResponseFormat | None = None
    modalities: list[Literal["text"]] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    metadata: dict[str, str] | None = None
    store: bool = False
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    parallel_tool_calls: bool = True

    @property
    def likeliest(self) -> int | None:
        return (self.top_logprobs or 0) if self.logprobs else None

    def check(self) -> None:
        super().check()
        if self.top_logprobs and not self.logprobs:
            raise InputError(f"top_logprobs: {self.top_logprobs} without logprobs; set logprobs: true")
        if len({self.max_tokens, self.max_completion_tokens} - {None}) > 1:
            raise InputError(
                f"max_tokens: {self.max_tokens}, and max_completion_tokens: {self.max_completion_tokens}; these are "
                "two names of one option: give only one"
            )
        messages = [message.message() for message in self.messages]
        check_messages(messages, "messages")
        if (length := sum(len(message.text) for message in messages)) > MOST_CHARACTERS:
            raise InputError(f"messages: {length:,} characters; at most {MOST_CHARACTERS:,} are allowed")


class EmbeddingRequest(OpenAIRequest):
    """The texts to embed. Ignored: `user`."""

    model: str
    input: str | list[str] | Ids | list[Ids]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: str | None = None


class Texts(OpenAIRequest):
    """A text to tokenize; a special token by itself, such as `<eos>`, is that token."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    prompt: Annotated[str, Field(max_length=MOST_CHARACTERS)]


class Tokens(OpenAIRequest):
    """Ids to decode to text."""

    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    tokens: Annotated[Ids, Field(max_length=MOST_CHARACTERS)]
