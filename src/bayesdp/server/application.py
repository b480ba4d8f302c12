"""The service in HTTP: its paths under /v1, health, metrics, and the page about them."""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from bayesdp import __version__
from bayesdp.errors import BayesDPError, InvalidInputError, TimeLimitError
from bayesdp.server.configuration import Analyst
from bayesdp.server.guard import Guard, ending_unread
from bayesdp.server.identity import DeniedError, Identity
from bayesdp.server.jobs import Job, Outcome, TooManyJobsError
from bayesdp.server.messages import ASGI, written
from bayesdp.server.observation import Journal, Metrics, Observed
from bayesdp.server.questions import Asked, OneQuestion, Questions, RunningQuestion
from bayesdp.server.refusals import DENIED, FAILED, RETRY_AFTER, error_document
from bayesdp.server.service import Service

__all__ = ["application"]

T = TypeVar("T")

Name = Annotated[str, Path(max_length=200, description="The name of a data set.")]
Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="A repeated request with the same key is charged once."),
]
Prefer = Annotated[str | None, Header(description="respond-async: answer with a job at once.")]

_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_NOT_FOUND = error_document("RemoteError", "there is nothing at this address")
_BUSY = error_document("RemoteError", "too many of your releases are being answered; ask again when one is done")
_STATUSES = {
    401: "No valid token.",
    403: "A token that may not ask this.",
    409: "The budget or the allowance does not allow it; nothing was charged.",
    422: "The request is refused; nothing was charged.",
    429: "Too many requests.",
    503: "The ledger cannot be reached, or the server is stopping.",
}


def application(
    service: Service,
    *,
    journal: Journal | None = None,
    until_stopped: AbstractContextManager[object] | None = None,
    identity: Identity | None = None,
) -> ASGI:
    """Return the ASGI application of a service, with its guard and its log.

    until_stopped: what is left, in a thread, once the server has answered its last request: it finishes the jobs.
    """
    configuration = service.configuration
    metrics, journal = Metrics(), Journal() if journal is None else journal
    api = _api(service, metrics, until_stopped)
    guard = Guard(
        api,
        Identity(configuration) if identity is None else identity,
        configuration.limits,
        configuration.listening,
        lambda: service.stopping,
    )
    api.state.guard = guard
    inside: ASGI = guard
    if configuration.listening.cors:
        inside = CORSMiddleware(
            guard,
            allow_origins=configuration.listening.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Prefer"],
            expose_headers=["Location", "Retry-After", "X-Request-Id"],
        )
    return Observed(ending_unread(inside), journal, metrics, configuration.datasets)


def _api(service: Service, metrics: Metrics, until_stopped: AbstractContextManager[object] | None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.stopping = True
        if until_stopped is not None:
            await asyncio.to_thread(until_stopped.__exit__, None, None, None)

    api = FastAPI(
        title="bayesdp",
        version=__version__,
        description="Releases of correlated data with differential privacy, within a budget.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        telemetry=_NO_TELEMETRY,
    )
    _answer_errors(api, service)
    _add_public_paths(api, service, metrics)
    _add_datasets(api, service)
    _add_releases(api, service)
    return api


def _answer_errors(api: FastAPI, service: Service) -> None:
    """Answer each exception with its status and its document."""

    def noted(request: Request, error: Exception) -> None:
        request.scope["bayesdp"]["error"] = type(error).__name__

    @api.exception_handler(BayesDPError)
    async def refused(request: Request, error: BayesDPError) -> Response:
        noted(request, error)
        return _sent(service.jobs.failed(error))

    @api.exception_handler(DeniedError)
    async def denied(request: Request, error: DeniedError) -> Response:
        return _json(DENIED, error.status)

    @api.exception_handler(TooManyJobsError)
    async def busy(request: Request, error: TooManyJobsError) -> Response:
        return _json(_BUSY, 429, {"Retry-After": str(RETRY_AFTER)})

    @api.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return _json(error_document("InvalidInputError", f'"{first["loc"][-1]}": {first["msg"]}'), 422)

    @api.exception_handler(Exception)  # it is raised again, and so reaches the log
    async def failed(request: Request, error: Exception) -> Response:
        return _json(FAILED, 500)

    @api.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        return _json(_NOT_FOUND, error.status_code, error.headers)


def _add_public_paths(api: FastAPI, service: Service, metrics: Metrics) -> None:
    """Add what needs no token: health, metrics and the page about all paths."""

    @api.get("/health/live", include_in_schema=False)
    async def live() -> Response:
        return _text("alive\n")

    @api.get("/health/ready", include_in_schema=False)
    async def ready() -> Response:
        if service.stopping:
            return _text("stopping\n", 503)
        try:
            await asyncio.to_thread(service.check_ready)
        except BayesDPError:
            return _text("the ledger cannot be read\n", 503)
        return _text("ready\n")

    @api.get("/metrics", include_in_schema=False)
    async def measured() -> Response:
        gauges = {"requests_running": api.state.guard.running, "jobs_running": service.jobs.running}
        return Response(metrics.text(gauges), media_type="text/plain; version=0.0.4")

    @api.get("/v1/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(_page(api.openapi()), media_type="text/html; charset=utf-8")


def _add_datasets(api: FastAPI, service: Service) -> None:
    """Add what reads the ledger only."""

    @api.get("/v1/datasets", responses=_documented(), summary="The data sets that you may ask.")
    async def datasets(request: Request) -> Response:
        return _json(service.names(_analyst(request)))

    @api.get("/v1/datasets/{dataset}", responses=_documented(), summary="What is public about a data set.")
    async def dataset(request: Request, dataset: Name) -> Response:
        return _json(await _in_thread(service.description, _analyst(request), dataset))

    @api.get("/v1/datasets/{dataset}/answers", responses=_documented(), summary="The answers so far, oldest first.")
    async def answers(request: Request, dataset: Name) -> Response:
        return _json(await _in_thread(service.answers, _analyst(request), dataset))

    @api.get(
        "/v1/datasets/{dataset}/answers/{entry}/statement",
        responses=_documented(),
        summary="The statement about an answer, as text/markdown or text/html.",
    )
    async def statement(
        request: Request,
        dataset: Name,
        entry: Annotated[int, Path(ge=1, le=10**18)],
        accept: Annotated[str, Header()] = "text/markdown",
    ) -> Response:
        html = "text/html" in accept
        page = await _in_thread(service.statement, _analyst(request), dataset, entry, html=html)
        if page is None:
            return _json(_NOT_FOUND, 404)
        return Response(page, media_type=f"text/{'html' if html else 'markdown'}; charset=utf-8")

    @api.get(
        "/v1/datasets/{dataset}/heads",
        responses=_documented(),
        summary="Does the ledger continue the entry that was seen before?",
    )
    async def heads(
        request: Request,
        dataset: Name,
        entry: Annotated[int, Query(ge=0, le=10**18)],
        head: Annotated[str, Query(alias="hash", min_length=64, max_length=64)],
    ) -> Response:
        return _json(await _in_thread(service.continues, _analyst(request), dataset, entry, head))

    @api.get("/v1/jobs/{job}", responses=_documented(), summary="A release that is being answered, or its answer.")
    async def job(request: Request, job: Annotated[str, Path(max_length=64)]) -> Response:
        found = service.jobs.find(job, _analyst(request).name)
        if found is None:
            return _json(_NOT_FOUND, 404)
        return _sent(found.future.result(), request) if found.future.done() else _running(found)


def _add_releases(api: FastAPI, service: Service) -> None:
    """Add what asks a question."""

    async def answered(request: Request, job: Job, prefer: str | None) -> Response:
        if not _prefers_a_job(prefer):
            done = asyncio.shield(asyncio.wrap_future(job.future))
            try:
                return _sent(await asyncio.wait_for(done, service.configuration.limits.wait), request)
            except TimeoutError:
                pass
        return _running(job)

    @api.post(
        "/v1/datasets/{dataset}/preview",
        openapi_extra=_body(OneQuestion),
        responses=_documented(),
        summary="What a release would cost, and how accurate it would be.",
    )
    async def preview(request: Request, dataset: Name) -> Response:
        asked = OneQuestion.read(await request.body())
        future = asyncio.wrap_future(service.preview(_analyst(request), dataset, asked))
        try:
            body = await asyncio.wait_for(future, service.configuration.limits.wait)
        except TimeoutError:
            raise TimeLimitError from None
        return Response(body, media_type="application/json")

    @api.post(
        "/v1/datasets/{dataset}/release",
        openapi_extra=_body(Questions),
        responses=_documented(),
        summary="Answer a question, or several, with noise, and charge for it.",
    )
    async def release(request: Request, dataset: Name, key: Key = None, prefer: Prefer = None) -> Response:
        asked = Questions.read(await request.body())
        return await answered(request, service.release(_analyst(request), dataset, asked, _only(request, key)), prefer)

    @api.post(
        "/v1/datasets/{dataset}/release-by",
        openapi_extra=_body(OneQuestion),
        responses=_documented(),
        summary="Answer a question for each part or window.",
    )
    async def release_by(request: Request, dataset: Name, key: Key = None, prefer: Prefer = None) -> Response:
        asked = OneQuestion.read(await request.body())
        return await answered(
            request, service.release_by(_analyst(request), dataset, asked, _only(request, key)), prefer
        )

    @api.post(
        "/v1/datasets/{dataset}/running",
        openapi_extra=_body(RunningQuestion),
        responses=_documented(),
        summary="The totals so far, period after period, charged once.",
    )
    async def running(request: Request, dataset: Name, key: Key = None, prefer: Prefer = None) -> Response:
        asked = RunningQuestion.read(await request.body())
        return await answered(request, service.running(_analyst(request), dataset, asked, _only(request, key)), prefer)


def _analyst(request: Request) -> Analyst:
    analyst: Analyst = request.scope["state"]["analyst"]
    return analyst


def _only(request: Request, key: str | None) -> str | None:
    """Return the idempotency key; InvalidInputError if there are several."""
    if len(request.headers.getlist("idempotency-key")) > 1:
        raise InvalidInputError("a request has one Idempotency-Key at most")
    return key


async def _in_thread(work: Callable[..., T], *arguments: Any, **options: Any) -> T:
    return await asyncio.to_thread(work, *arguments, **options)


def _prefers_a_job(prefer: str | None) -> bool:
    return any(part.strip().lower() == "respond-async" for part in (prefer or "").split(","))


def _running(job: Job) -> Response:
    return _json(job.to_dict(), 202, {"Location": f"/v1/jobs/{job.identity}", "Retry-After": "1"})


def _sent(outcome: Outcome, request: Request | None = None) -> Response:
    """Return the answer to a request, and note the type of an exception for the log."""
    if request is not None and outcome.error is not None:
        request.scope["bayesdp"]["error"] = outcome.error
    later = {"Retry-After": str(RETRY_AFTER)} if outcome.status == 503 else {}
    return Response(outcome.body, outcome.status, later, media_type="application/json")


def _json(document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(written(document), status, dict(headers or {}), media_type="application/json")


def _text(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/plain; charset=utf-8")


def _body(asked: type[Asked]) -> dict[str, Any]:
    """Return what the OpenAPI document says of the body of a request."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": asked.model_json_schema()}}}}


def _documented() -> dict[int | str, dict[str, Any]]:
    schema = {
        "type": "object",
        "required": ["kind", "error", "message"],
        "properties": {name: {"type": "string"} for name in ("kind", "error", "message")},
    }
    return {
        status: {"description": words, "content": {"application/json": {"schema": schema}}}
        for status, words in _STATUSES.items()
    }


def _page(document: Mapping[str, Any]) -> str:
    """Return a page about all paths, without scripts, so that it needs no other server."""
    rows = "\n".join(
        f"<dt><code>{method.upper()} {html.escape(path)}</code></dt><dd>{html.escape(said.get('summary', ''))}</dd>"
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>bayesdp</title>\n'
        "<style>body{font-family:sans-serif;max-width:50em;margin:2em auto}dd{margin:0 0 1em 2em}</style>\n"
        f"<h1>bayesdp {html.escape(document['info']['version'])}</h1>\n"
        '<p>Every request has the header <code>Authorization: Bearer TOKEN</code>. <a href="openapi.json">openapi.json'
        f"</a> describes requests and answers.</p>\n<dl>\n{rows}\n</dl>\n</html>\n"
    )
