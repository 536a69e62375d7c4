"""Spans of OpenTelemetry: one for each submission, one for each attempt, in one trace.

A program that traces has imported OpenTelemetry and set a provider. In any other program these
functions import no module and return at once. The trace of a submission is stored in the job's
options, so the worker may be another process, years later.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.core.inputs import Failure, Submission

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

_NOTHING: Final[AbstractContextManager[None]] = nullcontext()
_MOST_CHARACTERS: Final = 1_000  # of a trace's state, which other programs write

TraceCarrier = dict[str, str]


class _Traced(Struct):
    trace: TraceCarrier | None = None


_decode: Final = msgspec.json.Decoder(_Traced)
_last: "tuple[TracerProvider, Tracer] | None" = None


def _tracer() -> "Tracer | None":
    """Return the tracer, or None in a program that does not trace."""
    global _last
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # waits for a thread that is still importing it

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None  # the program has set no provider
    if _last is None or _last[0] is not provider:
        _last = (provider, provider.get_tracer("fairlane"))
    return _last[1]


# submissions


def submission_span(jobs: Sequence[Submission]) -> AbstractContextManager[None]:
    """Return a context manager: one span for submitting these jobs, stored in each of them."""
    tracer = _tracer()
    return _NOTHING if tracer is None or not jobs else _record_submission(tracer, jobs)


@contextmanager
def _record_submission(tracer: "Tracer", jobs: Sequence[Submission]) -> Iterator[None]:
    from opentelemetry.trace import SpanKind

    tasks, queues = {job.task for job in jobs}, {job.queue for job in jobs}
    name = f"submit {jobs[0].task}" if len(tasks) == 1 else "submit"
    with tracer.start_as_current_span(name, kind=SpanKind.PRODUCER) as span:
        if len(jobs) == 1:
            span.set_attribute("fairlane.job", jobs[0].id)
            if jobs[0].lane is not None:
                span.set_attribute("fairlane.lane", jobs[0].lane)
        else:
            span.set_attribute("fairlane.jobs", len(jobs))
        if len(tasks) == 1:
            span.set_attribute("fairlane.task", jobs[0].task)
        if len(queues) == 1:
            span.set_attribute("fairlane.queue", jobs[0].queue)
        carrier = _carrier_of(span)
        if carrier:
            _store_trace(jobs, carrier)
        yield


def _store_trace(jobs: Sequence[Submission], carrier: TraceCarrier) -> None:
    only_trace = _with_trace("{}", carrier)
    for job in jobs:
        job.options = only_trace if job.options == "{}" else _with_trace(job.options, carrier)


def _with_trace(options: str, carrier: TraceCarrier) -> str:
    return msgspec.json.encode({**msgspec.json.decode(options), "trace": carrier}).decode()


# attempts


class AttemptSpan:
    """The span of one attempt, from its start until `end`."""

    def __init__(self, span: "Span") -> None:
        self._span = span
        context = span.get_span_context()
        self.trace_id = f"{context.trace_id:032x}"
        self.span_id = f"{context.span_id:016x}"
        self.carrier = _carrier_of(span)

    def end(self, outcome: str, failure: Failure | None) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("fairlane.outcome", outcome)
        if failure is not None:
            self._span.set_attribute("error.type", failure.code)
            attributes = {
                "exception.type": failure.names[0] if failure.names else failure.code,
                "exception.message": failure.message,
                "exception.stacktrace": failure.traceback,
            }
            self._span.add_event("exception", attributes)
            self._span.set_status(StatusCode.ERROR, failure.message)
        self._span.end()


def attempt_span(start: Start, options: str) -> AttemptSpan | None:
    """Start the span of an attempt and make it current in this context; None without tracing.

    It continues the trace of the submission and is linked to it as well: some tracing tools show
    the parent, others the link.
    """
    tracer = _tracer()
    if tracer is None:
        return None
    from opentelemetry import context, trace

    parent = _context_of(_carrier_in(options))
    origin = trace.get_current_span(parent).get_span_context()
    span = tracer.start_span(
        f"run {start.task}",
        context=parent,
        kind=trace.SpanKind.CONSUMER,
        links=[trace.Link(origin)] if origin.is_valid else None,
        attributes={
            "fairlane.job": start.job,
            "fairlane.task": start.task,
            "fairlane.queue": start.queue,
            "fairlane.attempt": start.attempt,
            **({} if start.lane is None else {"fairlane.lane": start.lane}),
        },
    )
    context.attach(trace.set_span_in_context(span, parent))
    return AttemptSpan(span)


def continue_trace(carrier: TraceCarrier | None) -> None:
    """Make a span of another process the parent of the spans in this context."""
    if carrier and "opentelemetry.trace" in sys.modules:
        from opentelemetry import context

        context.attach(_context_of(carrier))


def _carrier_in(options: str) -> TraceCarrier | None:
    if '"trace"' not in options:
        return None
    try:
        return _decode.decode(options).trace
    except msgspec.DecodeError:
        return None  # a job runs also without its trace


def _carrier_of(span: "Span") -> TraceCarrier:
    from opentelemetry.trace import set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: TraceCarrier = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span))
    return {name: text for name, text in carrier.items() if len(text) <= _MOST_CHARACTERS}


def _context_of(carrier: TraceCarrier | None) -> "Context":
    """Return a context that has only the parent span."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(carrier or {}, Context())
