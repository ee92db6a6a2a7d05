# The JavaScript peer on plain workerd: the service's date, storage on the local disk, no cache service.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    # `--directory-path=objects=DIR` says where.
    (name = "objects", disk = (writable = true)),
  ],
  # `--socket-addr=http=ADDRESS` says where.
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
