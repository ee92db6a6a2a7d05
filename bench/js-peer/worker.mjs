// The peer of the service's keyed read: the same job in optimised JavaScript on the same runtime.
//
// The SHA-256 of the presented key names a Durable Object that is called once. The Durable Object writes one row for each admitted
// request before it answers; memory mirrors the rows. The body and most headers come from a cached response in the isolate's
// memory; rate-limit headers, age and request id are set per request. Bindings: TARGET, BODY and HEADERS are the cached response
// (path and query, text, JSON object of headers).
import { DurableObject } from "cloudflare:workers";
import { sha256 } from "./sha256.mjs";

const WINDOW_MILLIS = 60_000;
const RPM = 1_000_000;
const FRESH_MILLIS = 3_600_000;
const KEY = /^[Bb]earer (pk_live_[0-9a-f]{32})$/;
const FIRST_PARTY = ["http://localhost:3000", "http://127.0.0.1:3000"];

const copies = new Map();

export default {
  async fetch(request, env) {
    const { url, headers } = request;
    const target = url.slice(url.indexOf("/", 8));
    if (target === "/ready") return new Response(sha256("pk_live_0123456789abcdef0123456789abcdef"));
    const presented = KEY.exec(headers.get("authorization") ?? "");
    if (presented === null) return refusal(401, "UNAUTHORIZED", {});
    const [admitted, limit, remaining, reset] = await env.KEYS.getByName(sha256(presented[1])).take("public", "", "GET /v1/vaults");
    const allowance = {
      "x-ratelimit-limit": limit,
      "x-ratelimit-remaining": remaining,
      "x-ratelimit-reset": reset,
      "x-ratelimit-window": "60s",
    };
    if (!admitted) return refusal(429, "RATE_LIMITED", { ...allowance, "retry-after": reset - Math.floor(Date.now() / 1000) });

    const copy = copies.get(target) ?? fill(env, target);
    const age = Date.now() - copy.storedAt;
    if (copy.body === null || age > FRESH_MILLIS) return refusal(404, "NOT_FOUND", allowance);
    const answer = { ...copy.headers, ...allowance, age: Math.floor(age / 1000), "x-request-id": requestId() };
    const origin = headers.get("origin");
    if (origin !== null && FIRST_PARTY.includes(origin)) answer["access-control-allow-origin"] = origin;
    const condition = headers.get("if-none-match");
    if (condition !== null && condition.includes(copy.headers.etag)) return new Response(null, { status: 304, headers: answer });
    return new Response(copy.body, { headers: answer });
  },
};

/** One key: its windows and its usage in the same rows. The limit is a constant, like the record of an active key during its lease. */
export class KeyGuard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(
      `CREATE TABLE IF NOT EXISTS counts (
        window INTEGER, family TEXT, client TEXT, endpoint TEXT, served INTEGER NOT NULL, throttled INTEGER NOT NULL, last_seen INTEGER NOT NULL,
        PRIMARY KEY (window, family, client, endpoint)) WITHOUT ROWID`,
    );
    this.window = 0;
    this.used = 0;
  }

  /** Counts one request if the limit allows it: `[admitted, limit, remaining, reset]`. */
  take(family, client, endpoint) {
    const now = Date.now();
    const window = Math.floor(now / WINDOW_MILLIS);
    if (window !== this.window) {
      this.window = window;
      this.used = this.sql.exec("SELECT coalesce(sum(served), 0) AS used FROM counts WHERE window = ? AND family = ?", window, family).one().used;
    }
    const reset = (window + 1) * 60;
    if (this.used >= RPM) return [false, RPM, 0, reset];
    this.used += 1;
    this.sql.exec(
      `INSERT INTO counts VALUES (?, ?, ?, ?, 1, 0, ?)
       ON CONFLICT DO UPDATE SET served = served + 1, last_seen = excluded.last_seen`,
      window, family, client, endpoint, now,
    );
    return [true, RPM, RPM - this.used, reset];
  }
}

/** Loads the cached response into the isolate's memory. */
function fill(env, target) {
  const copy = { body: null, headers: {}, storedAt: Date.now() };
  if (target !== env.TARGET) return copy;
  copy.body = new TextEncoder().encode(env.BODY);
  copy.headers = JSON.parse(env.HEADERS);
  copies.set(target, copy);
  return copy;
}

function requestId() {
  return crypto.randomUUID().replaceAll("-", "");
}

function refusal(status, code, headers) {
  const id = requestId();
  const body = JSON.stringify({ error: { code, message: code, request_id: id } });
  return new Response(body, { status, headers: { ...headers, "content-type": "application/json", "cache-control": "no-store", "x-request-id": id } });
}
