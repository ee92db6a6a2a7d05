"""The public vault list with FastAPI and asyncpg: one process, a pool with prepared statements, orjson.

It reads `peer_vault`, a table made for it: every field of the list is a column, and every order and filter has an index
(bench/src/origin/peer_table.rs). DATABASE_URL is the database. uvicorn runs the service with uvloop and httptools.
"""

import os
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Annotated, Literal

import asyncpg
import orjson
from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel

CONNECTIONS = 8

ROW = (
    "id", "name", "address", "protocol_id", "protocol_name", "chain_id", "chain_name", "asset_symbol", "tvl_usd", "apr_net",
    "base_apr", "utilization", "borrow_apr", "borrow_reward_apr", "borrow_apr_net", "borrow_incentive_status",
    "has_borrow_rewards", "borrow_status", "gross_interest_apy", "active_loans_usd", "available_liquidity_usd",
    "liquidity_deficit_usd", "liquidity_status", "total_score", "risk_tier", "strategy_type", "curator_name", "is_audited",
    "deposit_status", "withdraw_status", "is_depositable", "deposit_capacity_usd", "freshness_seconds", "last_synced_at",
    "score_status", "score_updated_at", "tvl_status", "real_yield_share", "curator_id", "score_basis", "score_coverage",
    "lowest_score", "highest_score",
)
FRESHNESS = "greatest(0, floor(extract(epoch FROM now() - last_synced_at)))::int AS freshness_seconds"
COLUMNS = ", ".join(FRESHNESS if name == "freshness_seconds" else name for name in ROW)

# The SQL condition of each filter.
FILTERS = {
    "chain": "chain_slug = ANY($)",
    "riskTier": "tier = ANY($)",
    "minTvl": "tvl_usd >= $",
    "minRiskScore": "total_score >= $",
}

Sort = Literal[
    "tvl_usd", "available_liquidity_usd", "liquidity_deficit_usd", "apr_net", "borrow_apr_net", "borrow_reward_apr",
    "utilization", "real_yield_share", "name", "total_score", "last_synced_at",
]


class ListQuery(BaseModel):
    """The query parameters of the list."""

    chain: str | None = None
    riskTier: str | None = None
    minTvl: Annotated[float | None, Query(ge=0)] = None
    minRiskScore: Annotated[float | None, Query(ge=0, le=10)] = None
    sortBy: Sort = "tvl_usd"
    sortOrder: Literal["asc", "desc"] = "desc"
    page: Annotated[int, Query(ge=1)] = 1
    limit: Annotated[int, Query(ge=1, le=100)] = 20


@lru_cache(maxsize=512)
def statements(filters: tuple[str, ...], sort_by: str, sort_order: str) -> tuple[str, str]:
    """The statements for a page and for the count alone. asyncpg prepares each text once per connection."""
    conditions = [FILTERS[name].replace("$", f"${at}") for at, name in enumerate(filters, 1)]
    where = "WHERE " + " AND ".join(conditions) if conditions else ""
    order = f"{'lower(name)' if sort_by == 'name' else sort_by} {sort_order} NULLS LAST, id"
    limit, offset = len(filters) + 1, len(filters) + 2
    count = f"SELECT count(*)::int AS total FROM peer_vault {where}"
    page = f"SELECT {COLUMNS}, ({count}) AS total FROM peer_vault {where} ORDER BY {order} LIMIT ${limit} OFFSET ${offset}"
    return page, count


async def instants_as_text(connection: asyncpg.Connection) -> None:
    """Reads instants as text in the API's form, without an intermediate datetime."""
    await connection.set_type_codec("timestamptz", schema="pg_catalog", encoder=str, decoder=instant, format="text")


def instant(written: str) -> str:
    date, time = written[:-3].split(" ")
    seconds, _, fraction = time.partition(".")
    return f"{date}T{seconds}.{fraction.ljust(3, '0')[:3]}Z"


@asynccontextmanager
async def lifespan(app: FastAPI):
    async with asyncpg.create_pool(
        os.environ["DATABASE_URL"],
        min_size=CONNECTIONS,
        max_size=CONNECTIONS,
        init=instants_as_text,
        server_settings={"timezone": "UTC"},
    ) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/v1/vaults")
async def vaults(request: Request, query: Annotated[ListQuery, Query()]) -> Response:
    pool = request.app.state.pool
    filters = tuple(name for name in FILTERS if getattr(query, name) is not None)
    values = [getattr(query, name) for name in filters]
    values = [value.lower().split(",") if isinstance(value, str) else value for value in values]
    page, count = statements(filters, query.sortBy, query.sortOrder)
    rows = await pool.fetch(page, *values, query.limit, (query.page - 1) * query.limit)
    data = [dict(row) for row in rows]
    # A page after the last one has no row with the total.
    total = data[0]["total"] if data else await pool.fetchval(count, *values)
    for row in data:
        del row["total"]
    meta = {"page": query.page, "limit": query.limit, "total": total, "totalPages": -(-total // query.limit)}
    return Response(orjson.dumps({"data": data, "meta": meta}), media_type="application/json")
