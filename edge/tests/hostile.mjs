// Requests of a hostile stranger: close to valid, wrong in one or two places, and written byte by byte.

import { readFileSync } from "node:fs";
import { connect } from "node:net";

/** Every operation of the API: `[method, template, parameters]`. */
const OPERATIONS = Object.entries(
  JSON.parse(readFileSync(new URL("../../openapi/openapi.json", import.meta.url), "utf8")).paths,
).flatMap(([template, item]) =>
  ["get", "post", "delete"].filter((method) => item[method]).map((method) => [method.toUpperCase(), template, item[method].parameters ?? []]),
);

const bytes = (...codes) => Buffer.from(codes).toString("latin1");
const SEGMENTS = [
  "x", "1", "ethereum", "0x00b6f2c15e4439749f192d10c70f65354848cf4b", "..", ".", "%2e%2e", "%2e", ".%2e", "%2E.", "%252e%252e",
  "%2f", "%2F..", "%5c", "%5c..", "\\", "\\..", "%00", "%09", "%0a", "%0d%0a", "%7f", "%zz", "%", "a%20b", "a b", "a.", "...", "a%2e",
  ";", ";a=b", "@", ":80", "%3f", "%23", "#", "%c3%a9", bytes(0xc3, 0xa9), bytes(0x01), bytes(0x7f), bytes(0x09), "%e2%80%ae", "%ff", "",
  "'", "\"", "<", "|", "^", "`", "{", "}", "~", "a".repeat(300), "%41".repeat(1_000),
];
const VALUES = [
  ...SEGMENTS, "-".repeat(60), "0", "-1", "1e9", "99999999999999999999", "null", "true", "a,b,c", ",".repeat(500), "slow", "(".repeat(200),
  "2026-11-21T00:00:00Z", "v2:1", "\u0027or 1=1--",
];
const HEADER_NAMES = [
  "Idempotency-Key", "Last-Event-ID", "X-Service-Client-Ip", "X-Service-Subclient", "If-None-Match", "Accept", "Authorization", "Origin",
  "X-Service-Assertion", "X-Service-Principal", "X-Service-Tags", "X-Service-Answer", "X-Request-Id", "Cache-Control", "Range", "Cookie",
  "Accept-Encoding", "Content-Encoding", "X-Forwarded-For", "Expect", "TE", "Connection", "Content-Type", "User-Agent",
];
const HEADER_VALUES = [
  "a", "", " ", "\"a b\"", bytes(0x01), `a${bytes(0x01)}b`, bytes(0x7f), bytes(0xe9), bytes(0xff), bytes(0x09), "x".repeat(255), "x".repeat(256),
  "x".repeat(5_000), "x".repeat(33_000), "*", "W/\"", "v2:1", "v2:-1", "9".repeat(200), "127.0.0.1", "::1", "vaults=9999", "100-continue",
  "Bearer pk_live_00000000000000000000000000000000", "Bearer x", "gzip", "bytes=0-1", "https://app.example", "v2;k1;1;00;00;00", "{\"kind\":\"edge\"}",
  "close", "keep-alive", "trailers",
];
const BODIES = [
  "", "{}", "[]", "null", "{", "{\"ids\":[]}", "{\"ids\":[1]}", `{"ids":[${"1,".repeat(899)}1]}`, `{"ids":["${"x".repeat(60_000)}"]}`,
  `{"families":[${"\"x\",".repeat(6_999)}"x"]}`, `{${Array.from({ length: 2_000 }, (_, n) => `"f${n}":1`).join()}}`, "[".repeat(5_000),
  bytes(0x00, 0xff, 0xfe), "{\"ids\":[\"\\ud800\"]}", "x".repeat(70_000),
];

/** A request as bytes, from a stranger at `ip`; `dice` comes from `e2e/campaign/dice.mjs`. */
export function hostileRequest(dice, ip) {
  const [method, template, parameters] = dice.pick(OPERATIONS);
  const path = template.replace(/\{[^}]+\}/g, () => dice.pick(SEGMENTS));
  const named = parameters.filter((parameter) => parameter.in === "query" && dice.chance(0.4));
  const query = named.map(({ name }) => `${name}=${dice.pick(VALUES)}`).join("&");
  // A space or a line break would end the request line, which the HTTP parser in front of the Worker refuses.
  const target = (query ? `${path}?${query}` : path).replace(/[ \r\n]/g, "%20");
  const lines = [`${dice.chance(0.05) ? dice.pick(["HEAD", "OPTIONS", "PUT", "PATCH"]) : method} ${target} HTTP/1.1`, "Host: x", `CF-Connecting-IP: ${ip}`];
  for (let count = dice.between(0, 3); count > 0; count -= 1) lines.push(`${dice.pick(HEADER_NAMES)}: ${dice.pick(HEADER_VALUES)}`);
  const body = method === "GET" ? "" : dice.pick(BODIES);
  if (method === "POST") lines.push("Content-Type: application/json");
  if (body || method === "POST") lines.push(`Content-Length: ${Buffer.byteLength(body, "latin1")}`);
  return Buffer.from(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n${body}`, "latin1");
}

/** Parses what was received: the status (0 for none yet) and whether the response is complete, according to its lengths. */
function parseResponse(response, isHead) {
  const end = response.indexOf("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 0);
  if (end < 0) return { status, ended: false };
  const [head, body] = [response.slice(0, end), response.slice(end + 4)];
  if (status === 100) return parseResponse(body, isHead);
  if (isHead || status === 204 || status === 304) return { status, ended: true };
  if (/^transfer-encoding: *chunked/im.test(head)) return { status, ended: body.endsWith("0\r\n\r\n") };
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  return { status, ended: length !== undefined && body.length >= Number(length) };
}

/**
 * Sends bytes and resolves with the status (0 for none) once the response or the connection ends, or after `patience` milliseconds. The
 * runtime keeps a connection that was asked to close open for seconds.
 */
export function sendRaw(port, request, patience = 5_000) {
  return new Promise((resolve) => {
    let response = "";
    const isHead = request.subarray(0, 5).toString("latin1") === "HEAD ";
    const done = () => {
      socket.destroy();
      resolve(parseResponse(response, isHead).status);
    };
    const socket = connect({ port, host: "127.0.0.1" }, () => socket.write(request));
    socket.setTimeout(patience, done);
    const hear = (chunk) => {
      response += chunk.toString("latin1");
      if (parseResponse(response, isHead).ended) done();
    };
    socket.on("data", hear).on("end", done).on("close", done).on("error", done);
  });
}
