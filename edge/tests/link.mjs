// The protocol between edge and origin for test scripts, implemented independently of the Rust code.

import { createHash, createHmac } from "node:crypto";

/** The signed response headers, in order; the edge reads no others. */
const SIGNED = [
  "content-type", "cache-control", "cdn-cache-control", "etag", "link", "retry-after", "x-data-version",
  "x-service-failsafe-mode", "x-service-tags",
];

/** The signature of an answer to the request with this `assertion`. `body` is null for a stream. */
export function signedAnswer(secret, assertion, status, headers, body) {
  const [, id, , nonce] = assertion.split(";");
  const digest = body === null ? "-" : createHash("sha256").update(body).digest("hex");
  const named = SIGNED.filter((name) => headers[name] !== undefined);
  const lines = named.map((name) => `${name}:${name === "etag" ? headers[name].replace(/^W\//, "") : headers[name]}\n`);
  const text = `answer-v1\n${nonce}\n${status}\n${digest}\n${lines.join("")}`;
  return `v1;${id};${digest};${createHmac("sha256", Buffer.from(secret, "hex")).update(text).digest("hex")}`;
}

/** The request headers covered by an assertion, in order. */
const FORWARDED = [
  "accept", "content-type", "idempotency-key", "if-none-match", "last-event-id", "x-request-id", "x-service-client-ip",
  "x-service-tags",
];

/** Whether a received request has a valid edge assertion. */
export function isTheEdges(secret, { method, url, headers }, body) {
  const [version, , seconds, nonce, digest, mac] = (headers["x-service-assertion"] ?? "").split(";");
  const lines = FORWARDED.filter((name) => headers[name] !== undefined).map((name) => `${name}:${headers[name]}\n`);
  const text = `v2\n${method}\n${url}\n${seconds}\n${nonce}\n${digest}\n${headers["x-service-principal"]}\n${lines.join("")}`;
  const signed = createHmac("sha256", Buffer.from(secret, "hex")).update(text).digest("hex");
  return version === "v2" && mac === signed && digest === createHash("sha256").update(body).digest("hex");
}
