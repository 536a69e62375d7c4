"""A task for a child process that returns its trace span."""

from opentelemetry import trace


def span_here() -> list[str]:
    """Return the current trace and span."""
    context = trace.get_current_span().get_span_context()
    return [f"{context.trace_id:032x}", f"{context.span_id:016x}"]


def in_child() -> list[str]:
    return span_here()


async def in_child_on_a_loop() -> list[str]:
    return span_here()
