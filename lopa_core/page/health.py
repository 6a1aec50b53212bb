"""GET /healthz: 200 where a run would work, 503 where not, with what the workers themselves say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

PATH = "/healthz"


def add_health(app: FastAPI, health: Callable[[], dict[str, Any]]) -> None:
    """Answer at PATH. In front of Gradio's own routes, one of which takes every path."""

    def healthz(_: Request) -> JSONResponse:
        told = health()
        works = told["state"] in ("ready", "degraded") and all(worker["answers"] for worker in told["workers"])
        return JSONResponse(told, status_code=200 if works else 503)

    app.router.routes.insert(0, Route(PATH, healthz, methods=["GET"]))
