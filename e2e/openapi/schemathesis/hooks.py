"""Adapts schemathesis to this service: client addresses, and failures that are not faults, each with its reason."""

import itertools
import re
import secrets

import schemathesis

# Rate limits count per /64 and per /48 network. Every request comes from a new /48, so that requests without a key get 401 and not 429.
RUN = secrets.token_hex(4)
NETWORKS = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(NETWORKS)
    case.headers["cf-connecting-ip"] = f"2001:{RUN[:4]}:{number & 0xFFFF:x}:{RUN[4:]}::1"


def error_code(response):
    """`error.code` of a response, if it is an error of this service."""
    try:
        return response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None


def faults(response):
    """The names in the `details` of a 400; a placeholder that matches no parameter if there are none."""
    return {detail["name"] for detail in response.json()["error"].get("details", [])} or {"the request"}


def listed(case, name):
    """The address in the body that a fault such as `addresses[3]` refers to."""
    return case.body["addresses"][int(re.fullmatch(r"addresses\[(\d+)\]", name)[1])].lower()


def operation(case):
    return case.operation.definition.raw["operationId"]


# Requests that are valid by the schema and rightly refused, because JSON Schema cannot express the rule.
REFUSED = [
    (
        "A webhook's host must currently resolve to public addresses only. Generated hosts and the example's host do not.",
        lambda case, response: error_code(response) == "WEBHOOK_URL_REJECTED",
    ),
    (
        "At most 100 ids and addresses together: two lists under one bound.",
        lambda case, response: operation(case) == "VaultBatch" and error_code(response) == "TOO_MANY_ITEMS",
    ),
    (
        "The registry and the loss board have different severities and publishers, and `hasLoss` selects one of the two.",
        lambda case, response: operation(case) == "SecurityEventList"
        and error_code(response) == "INVALID_PARAMETER"
        and faults(response) <= {"severity", "published_by"},
    ),
    (
        "An address must have the format of its chain, and a pattern cannot express that base58 encodes exactly 32 bytes.",
        lambda case, response: error_code(response) in {"INVALID_ADDRESS", "ADDRESS_NAMESPACE_MISMATCH"}
        and not str((case.path_parameters or {}).get("address", "0x")).lower().startswith("0x"),
    ),
    (
        "The same in a list of addresses.",
        lambda case, response: operation(case) == "VaultBatch"
        and error_code(response) == "INVALID_ADDRESS"
        and all(not listed(case, name).startswith("0x") for name in faults(response)),
    ),
    (
        "The same inside ids and keys of vaults.",
        lambda case, response: error_code(response) in {"INVALID_PARAMETER", "INVALID_BODY"}
        and all(name in {"vault", "vault_id", "vaults"} or name.endswith(".vaultKey") for name in faults(response)),
    ),
    (
        "The total value of a portfolio must be greater than 0, although each position may be 0.",
        lambda case, response: operation(case) == "GraphCheck" and "must have a total value greater than 0" in response.text,
    ),
    (
        "`from` must not be after `to`.",
        lambda case, response: "must not be after `to`" in response.text,
    ),
    (
        "With `strict=true`, unknown names in filters are refused, and generated names are unknown.",
        lambda case, response: error_code(response) == "INVALID_PARAMETER" and "has the unknown value" in response.text,
    ),
    (
        "A retired version is answered with 410 for every valid request.",
        lambda case, response: error_code(response) == "VERSION_RETIRED",
    ),
    (
        "A cursor of the change feed has a checksum: only issued cursors are valid.",
        lambda case, response: operation(case) == "VaultChanges" and error_code(response) == "INVALID_CURSOR",
    ),
]


def named(failure):
    """The parameters in the message of a failure."""
    match = re.search(r"parameters? (`[^`]+`(?:, `[^`]+`)*) in", failure.message)
    return re.findall(r"`([^`]+)`", match.group(1)) if match else []


def different(value):
    """The number of different names in a list parameter."""
    entries = value if isinstance(value, list) else str(value).split(",")
    return len({name.strip().lower() for entry in entries for name in str(entry).split(",")} - {""})


# Requests that violate the schema and are rightly accepted.
ACCEPTED = [
    (
        "An empty value counts as absent, because forms send empty fields. The schema does not allow it, so that clients do not use it.",
        lambda failure, case, response: bool(named(failure))
        and all((case.query or {}).get(name) in ("", [], [""]) for name in named(failure)),
    ),
    (
        "Repeated and empty entries of a list do not count, so a list of more than fifty entries may contain fifty names or fewer.",
        lambda failure, case, response: bool(named(failure))
        and "`maxItems`" in failure.message
        and all(different((case.query or {}).get(name)) <= 50 for name in named(failure)),
    ),
    (
        "A URL or body that is too long is refused before it is parsed.",
        lambda failure, case, response: response.status_code in (413, 414),
    ),
]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is reported."""
    kind = type(failure).__name__
    if kind == "RejectedPositiveData":
        return not any(applies(case, response) for _, applies in REFUSED)
    if kind == "AcceptedNegativeData":
        return not any(applies(failure, case, response) for _, applies in ACCEPTED)
    return True
