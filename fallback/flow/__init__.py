"""Chains of instructions: each is a turn of its own, and gets what a tool returned before it."""

from __future__ import annotations

from fallback.errors import FlowError
from fallback.flow.flow import Flow
from fallback.flow.record import FlowRun, Step, StepRun

__all__ = ["Flow", "FlowError", "FlowRun", "Step", "StepRun"]
