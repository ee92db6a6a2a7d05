"""Calls the service with the client that openapi-python-client wrote."""

import json
import sys

from rds_attrs import Client
from rds_attrs.api.vaults import vault_list
from rds_attrs.models import VaultListRiskTierItem

base, caller = sys.argv[1:]
client = Client(base_url=base, headers={"cf-connecting-ip": caller})
listed = vault_list.sync(client=client, limit=2, risk_tier=[VaultListRiskTierItem.PRIME])
refused = vault_list.sync(client=client, strict=True, chain=["mars"])
print(json.dumps({"rows": len(listed.data), "total": listed.meta.total, "refused": refused.error.code.value}))
