"""Signed decisions, verified on this machine: nothing is asked of the service. Needs the extra `risk-data-client[decisions]`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict, cast

import coincurve
from Crypto.Hash import keccak


class DecisionEvidence(TypedDict):
    """A decision as `graph.decision` and `graph.check` answer it."""

    decisionId: str
    envelope: str
    signature: str


class DecisionSigner(TypedDict):
    """A row of the registry of signers, as `graph.signers` answers it. Keep a copy: it is what a verification rests on."""

    address: str
    keyId: str
    activatedAt: str
    retiredAt: str | None


class DecisionEnvelope(TypedDict):
    """The content of an envelope."""

    v: int
    portfolioRef: str
    positionsHash: str
    snapshotId: str
    limits: dict[str, int]
    """Limits in millionths of the portfolio."""
    verdict: Literal["approve", "caution", "reject"]
    findingsHash: str
    methodologyScope: str
    methodologyVersion: str
    signerAddress: str
    keyId: str
    createdAt: str


@dataclass(frozen=True)
class DecisionResult:
    """The results. The decision is genuine only if all are true."""

    envelope_intact: bool
    """The envelope is canonical, and its SHA-256 is the decision's id."""
    signature_valid: bool
    """The signature is that of the signer whom the envelope names."""
    signer_recognized: bool
    """The registry lists that signer under the envelope's key id."""
    signer_active_at_issuance: bool
    """That signer might sign at the time of the decision."""
    decision: DecisionEnvelope | None
    """The content; None if the envelope is not intact."""

    @property
    def is_genuine(self) -> bool:
        """Whether all results are true."""
        is_signed = self.signature_valid and self.signer_recognized and self.signer_active_at_issuance
        return self.envelope_intact and is_signed


MEMBERS = set(DecisionEnvelope.__annotations__)
_HASH = re.compile("[0-9a-f]{64}")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1."""


def verify_decision(evidence: DecisionEvidence, signers: Iterable[DecisionSigner]) -> DecisionResult:
    """Verifies a decision against a registry of signers.

    Example:
        sealed = client.graph.decision("0" * 64)
        result = verify_decision(sealed["data"], client.graph.signers())
        print(result.is_genuine, result.decision and result.decision["verdict"])
    """
    text = evidence["envelope"]
    envelope = _parsed(text)
    if envelope is None:
        return DecisionResult(False, False, False, False, None)
    # The signature is verified over the hash of this envelope and not over the stated id, so an altered envelope fails twice.
    hash = hashlib.sha256(text.encode()).hexdigest()
    address = envelope["signerAddress"]
    rows = [it for it in signers if it["address"].lower() == address and it["keyId"] == envelope["keyId"]]
    created_at = _instant(envelope["createdAt"])
    is_intact = hash == evidence["decisionId"]
    return DecisionResult(
        envelope_intact=is_intact,
        signature_valid=_signer_of(evidence["signature"], hash) == address,
        signer_recognized=bool(rows),
        signer_active_at_issuance=created_at is not None and any(_is_active(it, created_at) for it in rows),
        decision=envelope if is_intact else None,
    )


def _is_active(signer: DecisionSigner, at: datetime) -> bool:
    activated, retired = _instant(signer["activatedAt"]), signer["retiredAt"]
    if activated is None or activated > at:
        return False
    until = None if retired is None else _instant(retired)
    return retired is None or (until is not None and at < until)


def _instant(text: str) -> datetime | None:
    """An RFC 3339 time. Before Python 3.11 `fromisoformat` takes neither `Z` nor every number of decimals."""
    found = re.fullmatch(r"([0-9-]{10}T[0-9:]{8})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})", text)
    if found is None:
        return None
    fraction = (found[2] or "").ljust(6, "0")[:6]
    try:
        return datetime.fromisoformat(f"{found[1]}.{fraction}{found[3].replace('Z', '+00:00')}")
    except ValueError:
        return None


def _parsed(text: str) -> DecisionEnvelope | None:
    """The envelope, if the text is its canonical form byte for byte."""
    try:
        value = json.loads(text)
        is_canonical = isinstance(value, dict) and _is_valid(value) and _canonical(value) == text
    except (ValueError, RecursionError):
        return None
    return cast(DecisionEnvelope, value) if is_canonical else None


def _is_valid(it: dict[str, Any]) -> bool:
    if set(it) != MEMBERS:
        return False
    texts = [it[name] for name in ("portfolioRef", "keyId", "methodologyScope", "methodologyVersion")]
    hashes = [it[name] for name in ("positionsHash", "snapshotId", "findingsHash")]
    return (
        _is_int(it["v"])
        and it["v"] == 1
        and all(isinstance(hash, str) and _HASH.fullmatch(hash) for hash in hashes)
        and it["verdict"] in ("approve", "caution", "reject")
        and isinstance(it["signerAddress"], str)
        and re.fullmatch("0x[0-9a-f]{40}", it["signerAddress"]) is not None
        and isinstance(it["createdAt"], str)
        and _INSTANT.fullmatch(it["createdAt"]) is not None
        and _instant(it["createdAt"]) is not None
        and all(isinstance(text, str) and not re.search("[\ud800-\udfff]", text) for text in texts)
        and isinstance(it["limits"], dict)
        and all(_is_limit(name, value) for name, value in it["limits"].items())
    )


def _is_limit(name: str, value: Any) -> bool:
    is_named = re.fullmatch("maxSharePer[A-Z][A-Za-z]*", name) is not None
    return is_named and _is_int(value) and 0 <= value <= 1_000_000


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _canonical(value: Any) -> str:
    """Members sorted by name, no spaces (RFC 8785). All names are ASCII, and all numbers are whole."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _signer_of(signature: str, id: str) -> str | None:
    """The address that signed the id's 64 characters as `personal_sign` does; None if the signature is malformed."""
    if re.fullmatch("0x[0-9a-fA-F]{130}", signature) is None:
        return None
    parts = bytes.fromhex(signature[2:])
    recovery = parts[64] - 27
    # Anybody can derive the form with the higher s from a genuine signature.
    if recovery not in (0, 1) or int.from_bytes(parts[32:64], "big") > _ORDER // 2:
        return None
    message = _keccak(f"\x19Ethereum Signed Message:\n64{id}".encode())
    try:
        key = coincurve.PublicKey.from_signature_and_message(parts[:64] + bytes([recovery]), message, hasher=None)
    except ValueError:
        return None
    return f"0x{_keccak(key.format(compressed=False)[1:])[12:].hex()}"


def _keccak(message: bytes) -> bytes:
    digest: bytes = keccak.new(digest_bits=256, data=message).digest()
    return digest
