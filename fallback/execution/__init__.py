"""One call in, one result out: deadlines, errors, and what the model is shown of them."""

from fallback.execution.outcome import check_context
from fallback.execution.runners import Wake, aexecute, execute

__all__ = ["Wake", "aexecute", "check_context", "execute"]
