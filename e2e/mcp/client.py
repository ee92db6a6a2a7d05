# A client with the official Python SDK: connects in one mode, and prints what it saw as JSON.
#
# client.py ADDRESS CALLER MODE: MODE is `legacy` for the handshake, or `auto`, which finds the newest revision.

import asyncio
import json
import sys

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main(address: str, caller: str, mode: str) -> None:
    async with httpx2.AsyncClient(headers={"cf-connecting-ip": caller}) as http:
        async with Client(streamable_http_client(f"{address}/v1/mcp", http_client=http), mode=mode) as client:
            tools = await client.list_tools()
            resources = await client.list_resources()
            templates = await client.list_resource_templates()
            found = await client.call_tool("search_vaults", {"riskTier": ["prime"], "limit": 2})
            refused = await client.call_tool("search_vaults", {"riskTeir": "prime"})
            page = await client.read_resource("rds://docs/limits.md")
            print(json.dumps({
                "revision": client.session.protocol_version,
                "server": client.session.server_info.name,
                "tools": [tool.name for tool in tools.tools],
                "resources": len(resources.resources),
                "templates": len(templates.resource_templates),
                "rows": len(found.structured_content["answer"]["data"]),
                "is_error": bool(found.is_error),
                "refused": [refused.is_error, refused.structured_content["error"]["code"]],
                "page": page.contents[0].text[:20],
            }))


asyncio.run(main(*sys.argv[1:]))
