"""The two clients: every resource of the API over one transport each."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from types import TracebackType

import anyio
import httpx

from .core import asynchronous, blocking
from .core.etags import EtagCache
from .core.exchange import Clock, Shared, settings
from .core.info import RateLimit
from .generated.async_resources import AsyncResources
from .generated.resources import Resources


class Client(Resources):
    """A client of the Risk Data Service. Threads may share it.

    Example:
        with Client("https://rds.example", api_key="pk_live_0123456789abcdef0123456789abcdef") as desk:
            print(desk.rate_limit)
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        max_retries: int = 3,
        timeout: float = 75.0,
        max_retry_after: float = 60.0,
        etag_entries: int = 100,
        strict: bool = False,
        subclient: str | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.Client | None = None,
        sleep: blocking.Sleep = blocking.sleep,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Opens no connection yet.

        Args:
            base_url: The address of the service, without `/v1`.
            api_key: An API key (`pk_live_…`) or an index token. Without one, public reads work with low limits.
            max_retries: How often a request is sent again at most.
            timeout: Seconds for one try, including its body. The service itself gives up after 60 seconds.
            max_retry_after: The longest `Retry-After` in seconds that is waited for; a longer one is an error at once.
            etag_entries: Answers kept with their ETags. 0 keeps none.
            strict: Refuse unknown parameters and filter values instead of ignoring them.
            subclient: With a shared key: your client that makes the requests.
            headers: More headers for every request.
            http_client: Sends the requests, with its own proxies, certificates and hooks. `timeout` then bounds each read and not the
                whole try, and `cancel` is seen when a read ends.
            sleep: Waits between tries, for tests.
            now: Unix seconds, for tests.
            chance: A number from 0 to 1, for tests.
        """
        given = settings(base_url, api_key, max_retries, timeout, max_retry_after, strict, subclient, headers)
        self._caller = blocking.Caller(Shared(given, Clock(now, chance), EtagCache(etag_entries)), http_client, sleep)
        super().__init__(self._caller)

    @property
    def rate_limit(self) -> RateLimit | None:
        """The rate limit that the last answer reported; None before the first."""
        return self._caller.shared.rate_limit

    def close(self) -> None:
        """Closes the connections, unless they belong to a client of yours."""
        self._caller.close()

    def __enter__(self) -> Client:
        """The client, which is closed with the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the client."""
        self.close()


class AsyncClient(AsyncResources):
    """A client of the Risk Data Service for asyncio and trio. Tasks may share it.

    Example:
        async with AsyncClient("https://rds.example", api_key="pk_live_0123456789abcdef0123456789abcdef") as desk:
            print(desk.rate_limit)
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        max_retries: int = 3,
        timeout: float = 75.0,
        max_retry_after: float = 60.0,
        etag_entries: int = 100,
        strict: bool = False,
        subclient: str | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
        sleep: asynchronous.Sleep = anyio.sleep,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Opens no connection yet.

        Args:
            base_url: The address of the service, without `/v1`.
            api_key: An API key (`pk_live_…`) or an index token. Without one, public reads work with low limits.
            max_retries: How often a request is sent again at most.
            timeout: Seconds for one try, including its body. The service itself gives up after 60 seconds.
            max_retry_after: The longest `Retry-After` in seconds that is waited for; a longer one is an error at once.
            etag_entries: Answers kept with their ETags. 0 keeps none.
            strict: Refuse unknown parameters and filter values instead of ignoring them.
            subclient: With a shared key: your client that makes the requests.
            headers: More headers for every request.
            http_client: Sends the requests, with its own proxies, certificates and hooks.
            sleep: Waits between tries, for tests.
            now: Unix seconds, for tests.
            chance: A number from 0 to 1, for tests.
        """
        given = settings(base_url, api_key, max_retries, timeout, max_retry_after, strict, subclient, headers)
        self._caller = asynchronous.AsyncCaller(Shared(given, Clock(now, chance), EtagCache(etag_entries)), http_client, sleep)
        super().__init__(self._caller)

    @property
    def rate_limit(self) -> RateLimit | None:
        """The rate limit that the last answer reported; None before the first."""
        return self._caller.shared.rate_limit

    async def aclose(self) -> None:
        """Closes the connections, unless they belong to a client of yours."""
        await self._caller.aclose()

    async def __aenter__(self) -> AsyncClient:
        """The client, which is closed with the block."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the client."""
        await self.aclose()
