"""The types of requests and answers, for annotations: `from risk_data.types import VaultRow`."""

from .generated.types import *  # noqa: F403
