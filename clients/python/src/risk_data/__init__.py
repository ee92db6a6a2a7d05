"""Client of the Risk Data Service: risk scores of on-chain vaults, events as a stream, signed webhooks and decisions.

The types of requests and answers are in `risk_data.types`. Decisions are verified by `risk_data.decisions`, which needs an extra.
"""

from typing import TYPE_CHECKING, Any

# A name that is imported as itself is exported (PEP 484).
from .client import AsyncClient as AsyncClient
from .client import Client as Client
from .core.asynchronous import AsyncEventStream as AsyncEventStream
from .core.asynchronous import AsyncPages as AsyncPages
from .core.blocking import EventStream as EventStream
from .core.blocking import Pages as Pages
from .core.errors import ApiError as ApiError
from .core.errors import DecodingError as DecodingError
from .core.errors import RequestCancelledError as RequestCancelledError
from .core.errors import RequestConnectionError as RequestConnectionError
from .core.errors import RequestTimeoutError as RequestTimeoutError
from .core.errors import RiskDataError as RiskDataError
from .core.info import RateLimit as RateLimit
from .core.info import ResponseInfo as ResponseInfo
from .core.info import SubclientLimit as SubclientLimit
from .core.info import info_of as info_of
from .core.operation import Cancel as Cancel
from .core.operation import RequestOptions as RequestOptions
from .core.operation import StreamOptions as StreamOptions
from .core.stream import CursorFrame as CursorFrame
from .core.stream import DrainingFrame as DrainingFrame
from .core.stream import GapFrame as GapFrame
from .core.stream import OperationFrame as OperationFrame
from .core.stream import OtherFrame as OtherFrame
from .core.stream import ReadyFrame as ReadyFrame
from .core.stream import StreamFrame as StreamFrame
from .generated.errors import *  # noqa: F403
from .webhooks import WebhookError as WebhookError
from .webhooks import WebhookRefusal as WebhookRefusal
from .webhooks import verify_webhook as verify_webhook

if TYPE_CHECKING:
    from .generated.deliveries import WebhookEvent as WebhookEvent
else:

    def __getattr__(name: str) -> Any:
        """Imports what few programs need at run time and takes long: every type of the interface."""
        if name == "WebhookEvent":
            from .generated.deliveries import WebhookEvent

            return WebhookEvent
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
