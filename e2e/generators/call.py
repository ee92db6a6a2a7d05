"""Imports every module of the client that openapi-generator wrote for Python, and calls the service with it."""

import importlib
import json
import pkgutil
import sys

import rds_client

base, caller = sys.argv[1:]
for module in pkgutil.walk_packages(rds_client.__path__, "rds_client."):
    # Deliveries are requests that the service sends: no client calls them, and this generator (7.26) leaves out the types of their
    # parameters. A tag of their own keeps that out of the modules that clients import.
    if module.name != "rds_client.api.deliveries_api":
        importlib.import_module(module.name)

client = rds_client.ApiClient(rds_client.Configuration(host=base), header_name="cf-connecting-ip", header_value=caller)
vaults = rds_client.VaultsApi(client)
listed = vaults.vault_list(limit=2, risk_tier=["prime"])
try:
    vaults.vault_list(strict=True, chain=["mars"])
    refused = None
except rds_client.ApiException as failed:
    refused = json.loads(failed.body)["error"]["code"]
webhooks = [name for name in dir(rds_client.WebhooksApi) if not name.startswith("_")]
print(json.dumps({
    "rows": len(listed.data),
    "tiers": sorted({row.risk_tier for row in listed.data}),
    "total": listed.meta.total,
    "refused": refused,
    "webhooks": webhooks,
}))
