"""Plays the behaviours that need no server: webhook deliveries and decisions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Any

from scripted import ROOT, contains

from risk_data import WebhookError, verify_webhook
from risk_data.decisions import verify_decision


def lines(path: str) -> list[Any]:
    """The vectors of a file."""
    found = [json.loads(line) for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]
    assert found
    return found


def play_webhook(webhook: Any) -> None:
    """Verifies a delivery, or every recorded one."""
    if "vectors" in webhook:
        for it in lines(webhook["vectors"]):
            play_vector(it)
        return
    sign = webhook.get("sign") or {"secret": "", "body": "", "seconds": 0}
    secret, body, seconds, id = sign["secret"], sign["body"], sign["seconds"], sign.get("id", "evt_1")
    signers = [secret] if isinstance(secret, str) else secret
    ours = [f"v1={hmac.new(it.encode(), f'{seconds}.{body}'.encode(), hashlib.sha256).hexdigest()}" for it in signers]
    message = f"{id}.{seconds}.{body}".encode()
    keys = [base64.b64decode(padded(it.removeprefix("whsec_"))) for it in signers]
    standard = [f"v1,{base64.b64encode(hmac.digest(key, message, 'sha256')).decode()}" for key in keys]
    headers = service_headers(f"t={seconds},{','.join(ours)}", id, seconds, " ".join(standard))
    headers.update(webhook.get("headers", {}))
    given: dict[str, Any] = {
        "headers": {name: value for name, value in headers.items() if value is not None},
        "body": body,
        "secrets": webhook.get("secrets", signers),
        "now": webhook.get("now"),
        "scheme": webhook.get("scheme"),
        **({"tolerance": webhook["tolerance"]} if "tolerance" in webhook else {}),
    }
    change(webhook.get("change"), given)
    if webhook["expect"].get("ok"):
        contains(verify_webhook(**given), json.loads(body), "event")
    else:
        assert refusal(given) == webhook["expect"]["refused"]


def play_vector(it: Any) -> None:
    """Verifies one recorded delivery in both schemes with each secret."""
    headers = service_headers(it["ours"], it["event_id"], it["seconds"], it["standard"])
    for scheme in ("service", "standard"):
        for secrets in it["secrets"]:
            given = {"headers": headers, "body": it["body"], "secrets": secrets, "now": it["seconds"], "scheme": scheme}
            # The vectors' bodies are any bytes: what is not an event is refused after its signature was accepted.
            assert refusal(given) in ("ok", "malformed_body")
            assert refusal({**given, "body": f"{it['body']}x"}) == "no_match"


def service_headers(ours: str, id: str, seconds: int, standard: str) -> dict[str, Any]:
    """The headers of a delivery."""
    return {
        "X-Service-Signature": ours,
        "webhook-id": id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": standard,
    }


def padded(text: str) -> str:
    """Base64 with its padding."""
    return text + "=" * (-len(text) % 4)


def change(what: str | None, given: dict[str, Any]) -> None:
    """Alters what was signed."""
    headers = given["headers"]
    if what == "body":
        given["body"] = given["body"].replace("{", "{ ", 1)
    if what == "secret":
        given["secrets"] = [f"whsec_{'0' * 64}"]
    if what == "id":
        headers["webhook-id"] = "evt_2"
    if what == "time":
        ours = headers["X-Service-Signature"]
        headers["X-Service-Signature"] = re.sub(r"t=(\d+)", lambda found: f"t={int(found[1]) + 1}", ours)
        headers["webhook-timestamp"] = str(int(headers["webhook-timestamp"]) + 1)
    if what == "signature":
        for name, one, two in (("X-Service-Signature", "0", "1"), ("webhook-signature", "A", "B")):
            headers[name] = re.sub(
                "(v1[=,])(.)",
                lambda found, one=one, two=two: found[1] + (two if found[2] == one else one),  # type: ignore[misc]
                headers[name],
            )


def refusal(given: dict[str, Any]) -> str:
    """Why a delivery is refused, or `ok`."""
    try:
        verify_webhook(**given)
    except WebhookError as error:
        return error.reason
    return "ok"


def play_decision(decision: Any) -> None:
    """Verifies every recorded decision, or one that is altered."""
    vectors = lines(decision["vectors"])
    if "alter" not in decision:
        for it in vectors:
            assert results(it["in"]) == it["out"], it["name"]
        return
    first = vectors[0]["in"]
    envelope = json.loads(first["envelope"])
    assert envelope.get(decision["alter"]) != decision["with"], "nothing would be altered"
    altered = {**envelope, decision["alter"]: decision["with"]}
    text = json.dumps(altered, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert results({**first, "envelope": text}) == decision["expect"]


def results(given: Any) -> list[bool]:
    """The five results for a decision of the registry."""
    signers: list[Any] = [
        {
            "address": it["address"],
            "keyId": it["key_id"],
            "activatedAt": it["activated_at"],
            "retiredAt": it["retired_at"],
        }
        for it in given["registry"]
    ]
    evidence: Any = {"decisionId": given["id"], "envelope": given["envelope"], "signature": given["signature"]}
    it = verify_decision(evidence, signers)
    out = [it.envelope_intact, it.signature_valid, it.signer_recognized, it.signer_active_at_issuance]
    assert it.is_genuine == all(out)
    return [True, *out]
