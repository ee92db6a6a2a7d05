# The edge on plain workerd, without Cloudflare. docs/handbook/self-hosted-edge.md says how to run it.
#
# The folder of this file is one release: this file, cache-store.mjs, entry.mjs and build/. It stays as it is; variables come from the environment:
#
#     ORIGIN_URL=http://127.0.0.1:8788 ASSERTION_KEY=k1:<64 hex> \
#         workerd serve worker.capnp --socket-addr=http=127.0.0.1:8787 --directory-path=objects=/var/lib/rds-edge/objects
#
# Paths are relative to the folder in which workerd is started. `cargo xtask up` starts the edge from this file, too.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "assets", disk = (path = "build/assets")),
    (name = "cache-store", worker = .cacheStore),
    # Counts of rate limits, key records, tag versions and the replica: SQLite files. One process may use the folder at a time.
    (name = "objects", disk = (path = "objects", writable = true)),
    # The origin and the collector of traces may have private addresses. The Worker calls no other host.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [
    # Plain HTTP, for a TLS proxy in front.
    (name = "http", address = "127.0.0.1:8787", http = (), service = "main"),
  ],
  # Collects garbage early: dead objects hold memory that V8 does not count.
  v8Flags = ["--optimize-for-size"],
);

const main :Workerd.Worker = (
  modules = [
    (name = "entry.mjs", esModule = embed "entry.mjs"),
    (name = "build/index.js", esModule = embed "build/index.js"),
    (name = "build/index_bg.wasm", wasm = embed "build/index_bg.wasm"),
  ],
  compatibilityDate = "2026-03-01",
  bindings = [
    # Required. The origin's edge listener, http(s)://host[:port] without a path.
    (name = "ORIGIN_URL", fromEnvironment = "ORIGIN_URL"),
    # Required, a secret. <name>:<64 hex>, the first of the origin's RDS_EDGE_ASSERTION_KEYS; during a rotation several, separated by commas.
    (name = "ASSERTION_KEY", fromEnvironment = "ASSERTION_KEY"),
    # Web origins of your own pages, separated by commas; the same as the origin's RDS_FIRST_PARTY_ORIGINS.
    (name = "FIRST_PARTY_ORIGINS", fromEnvironment = "FIRST_PARTY_ORIGINS"),
    # The header in which the proxy in front writes the caller's address. Default: CF-Connecting-IP.
    (name = "CLIENT_IP_HEADER", fromEnvironment = "CLIENT_IP_HEADER"),
    # Networks of the proxies that may write that header. Every other peer counts as the caller itself. Default: this machine.
    (name = "TRUSTED_PROXIES", fromEnvironment = "TRUSTED_PROXIES"),
    # Host of the keys of cached responses: the service's own host name.
    (name = "CACHE_HOST", fromEnvironment = "CACHE_HOST"),
    # Milliseconds for which the edge waits for the origin if a stale response can be served instead. Default: 2500.
    (name = "ORIGIN_TIMEOUT_MS", fromEnvironment = "ORIGIN_TIMEOUT_MS"),
    # Milliseconds for which it waits for a Durable Object. Default: 1000. Set 5000 here: one thread and one disk serve all objects.
    (name = "GUARD_TIMEOUT_MS", fromEnvironment = "GUARD_TIMEOUT_MS"),
    # 1 opens the event stream to callers without a key, if the origin's RDS_STREAM_ANONYMOUS does too.
    (name = "STREAM_ANONYMOUS", fromEnvironment = "STREAM_ANONYMOUS"),
    # 1 enables the exposure graph's routes, if the origin's RDS_GRAPH does too.
    (name = "GRAPH", fromEnvironment = "GRAPH"),
    # Objects that share the questions for the replica. One process has one isolate, so the default of 1 is right.
    (name = "REPLICA_OBJECTS", fromEnvironment = "REPLICA_OBJECTS"),
    # Contact in security.txt: mailto:, https: or tel:.
    (name = "SECURITY_CONTACT", fromEnvironment = "SECURITY_CONTACT"),
    # Milliseconds for which it waits for the origin if nothing else can be served. Default: 61000.
    (name = "READ_DEADLINE_MS", fromEnvironment = "READ_DEADLINE_MS"),
    # Collector of traces (OTLP over HTTP with JSON), as the origin's RDS_OTLP_ENDPOINT; without it there are none.
    (name = "OTLP_ENDPOINT", fromEnvironment = "OTLP_ENDPOINT"),
    # A secret: the header Authorization for the collector.
    (name = "OTLP_AUTHORIZATION", fromEnvironment = "OTLP_AUTHORIZATION"),
    # Part of the requests that are traced, 0 to 1.
    (name = "TRACE_RATIO", fromEnvironment = "TRACE_RATIO"),
    # 1 continues the traces of callers, from their `traceparent`.
    (name = "TRACE_CALLERS", fromEnvironment = "TRACE_CALLERS"),
    (name = "KEYS", durableObjectNamespace = "KeyGuard"),
    (name = "ADDRESSES", durableObjectNamespace = "AddressGuard"),
    (name = "EPOCHS", durableObjectNamespace = "Epochs"),
    (name = "REPLICA", durableObjectNamespace = "Replica"),
    (name = "ASSETS", service = "assets"),
  ],
  durableObjectNamespaces = [
    # `uniqueKey` is also the name of the class's folder in `objects`; another value would begin with empty storage.
    (className = "KeyGuard", uniqueKey = "KeyGuard", enableSql = true),
    (className = "AddressGuard", uniqueKey = "AddressGuard", enableSql = true),
    (className = "Epochs", uniqueKey = "Epochs", enableSql = true),
    (className = "Replica", uniqueKey = "Replica", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
  cacheApiOutbound = "cache-store",
);

# workerd has no storage behind the Cache API: this one keeps responses in memory.
const cacheStore :Workerd.Worker = (
  modules = [(name = "cache-store.mjs", esModule = embed "cache-store.mjs")],
  compatibilityDate = "2026-03-01",
);
