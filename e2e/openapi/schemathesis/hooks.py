"""What schemathesis has to know of this service: callers' addresses, and the failures that are nobody's fault, each with its reason."""

import itertools
import re
import secrets

import schemathesis

# Allowances are counted by /64 network and by /48: every request comes from a /48 of its own, or keyless probes would meet 429 where 401 is looked for.
RUN = secrets.token_hex(4)
NETWORKS = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(NETWORKS)
    case.headers["cf-connecting-ip"] = f"2001:{RUN[:4]}:{number & 0xFFFF:x}:{RUN[4:]}::1"


def error_code(response):
    """`error.code` of an answer, if it is one of our errors."""
    try:
        return response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return None


def faults(response):
    """The names of what a 400 finds wrong; a name that is nowhere else where it names none."""
    return {detail["name"] for detail in response.json()["error"].get("details", [])} or {"the request"}


def listed(case, name):
    """The address in the body that a fault names, as `addresses[3]`."""
    return case.body["addresses"][int(re.fullmatch(r"addresses\[(\d+)\]", name)[1])].lower()


def operation(case):
    return case.operation.definition.raw["operationId"]


# A request that keeps to the schema and is refused all the same, because JSON Schema has no words for the rule.
REFUSED = [
    (
        "A webhook's host must resolve, now, to public addresses only. Generated hosts do not, and the example's never will.",
        lambda case, response: error_code(response) == "WEBHOOK_URL_REJECTED",
    ),
    (
        "At most 100 ids and addresses together: two lists under one bound.",
        lambda case, response: operation(case) == "VaultBatch" and error_code(response) == "TOO_MANY_ITEMS",
    ),
    (
        "The registry has other severities and publishers than the loss board, and `hasLoss` decides which of the two answers.",
        lambda case, response: operation(case) == "SecurityEventList"
        and error_code(response) == "INVALID_PARAMETER"
        and faults(response) <= {"severity", "published_by"},
    ),
    (
        "An address belongs to its chain: hex where the chain writes hex. And a pattern cannot say that base58 stands for 32 bytes.",
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
        "A portfolio is worth more than 0: the sum of its positions, each of which may be 0.",
        lambda case, response: operation(case) == "GraphCheck" and "must be worth more than 0 together" in response.text,
    ),
    (
        "Two instants stand in an order: `from` is not after `to`.",
        lambda case, response: "must not be after `to`" in response.text,
    ),
    (
        "With `strict=true`, names in filters that no registry has are refused, and generated ones are in none.",
        lambda case, response: error_code(response) == "INVALID_PARAMETER" and "has the unknown value" in response.text,
    ),
    (
        "What was withdrawn is gone, however well it is asked for.",
        lambda case, response: error_code(response) == "VERSION_RETIRED",
    ),
    (
        "A cursor of the change feed carries a checksum: only what was issued is taken.",
        lambda case, response: operation(case) == "VaultChanges" and error_code(response) == "INVALID_CURSOR",
    ),
]


def named(failure):
    """The parameters that a failure is about."""
    told = re.search(r"parameters? (`[^`]+`(?:, `[^`]+`)*) in", failure.message)
    return re.findall(r"`([^`]+)`", told.group(1)) if told else []


def different(value):
    """How many names a list parameter holds."""
    entries = value if isinstance(value, list) else str(value).split(",")
    return len({name.strip().lower() for entry in entries for name in str(entry).split(",")} - {""})


# A request that breaks the schema and is taken all the same.
TAKEN = [
    (
        "An empty text, word or list counts as not given, as forms send what nobody filled in. A schema that said so would offer it.",
        lambda failure, case, response: bool(named(failure))
        and all((case.query or {}).get(name) in ("", [], [""]) for name in named(failure)),
    ),
    (
        "Repeats and empty entries of a list do not count, so a list of more than fifty entries may hold fifty names or fewer.",
        lambda failure, case, response: bool(named(failure))
        and "`maxItems`" in failure.message
        and all(different((case.query or {}).get(name)) <= 50 for name in named(failure)),
    ),
    (
        "What is too long for a URL or a body is refused before anybody looks into it.",
        lambda failure, case, response: response.status_code in (413, 414),
    ),
]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure counts."""
    kind = type(failure).__name__
    if kind == "RejectedPositiveData":
        return not any(applies(case, response) for _, applies in REFUSED)
    if kind == "AcceptedNegativeData":
        return not any(applies(failure, case, response) for _, applies in TAKEN)
    return True
