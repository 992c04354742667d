"""One call in, one result out: deadlines, errors, and what the model is shown of them."""

from fallback.execution.outcome import check_context
from fallback.execution.pacing import Pace, Rates
from fallback.execution.patience import Impatient, Pieces, patience, wait
from fallback.execution.runners import Wake, aexecute, apause, execute, pause
from fallback.execution.waves import amake, awave, begin, make, wave

__all__ = [
    "Impatient",
    "Pace",
    "Pieces",
    "Rates",
    "Wake",
    "aexecute",
    "amake",
    "apause",
    "awave",
    "begin",
    "check_context",
    "execute",
    "make",
    "patience",
    "pause",
    "wait",
    "wave",
]
