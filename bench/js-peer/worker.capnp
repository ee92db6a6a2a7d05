# The JavaScript peer on plain workerd: the service's compatibility date, storage on the local disk, no cache service.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    # The path is set by `--directory-path=objects=DIR`.
    (name = "objects", disk = (writable = true)),
  ],
  # The address is set by `--socket-addr=http=ADDRESS`.
  sockets = [(name = "http", http = (), service = "main")],
);

const main :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "sha256.mjs", esModule = embed "sha256.mjs"),
  ],
  compatibilityDate = "2026-03-01",
  bindings = [
    (name = "TARGET", fromEnvironment = "TARGET"),
    (name = "BODY", fromEnvironment = "BODY"),
    (name = "HEADERS", fromEnvironment = "HEADERS"),
    (name = "KEYS", durableObjectNamespace = "KeyGuard"),
  ],
  durableObjectNamespaces = [(className = "KeyGuard", uniqueKey = "KeyGuard", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);
