// Pages, the files that they load and the OpenAPI document on real workerd: read from the folder of assets, and never served in a wrong version.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Edge, Origin, sha256, until } from "./stack.mjs";

const stack = JSON.parse(process.env.RDS_EDGE_STACKS)[7];
const origin = new Origin();
const edge = new Edge(stack);
const assets = join(stack.folder, "build/assets");
const OPENAPI = readFileSync(new URL("../../openapi/openapi.json", import.meta.url));

/** A request; its body as bytes. */
async function ask(path, { method = "GET", port = stack.port, ...headers } = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, redirect: "manual", headers });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** The asset that is the content of `path`, by the fingerprint in the page's ETag. */
async function assetOf(path) {
  const { headers } = await ask(path, { method: "HEAD" });
  const fingerprint = headers.get("etag").replaceAll('"', "");
  return join(assets, readdirSync(assets).find((name) => name.startsWith(fingerprint)));
}

/** Asserts that `path` is unavailable, and that the log names the request and the cause. */
async function assertUnavailable(path, cause, port = stack.port) {
  const { status, headers, body } = await ask(path, { port });
  const { error } = JSON.parse(body);
  assert.deepEqual([status, error.code, headers.get("content-type")], [503, "SERVICE_UNAVAILABLE", "application/json"], path);
  assert.deepEqual([headers.get("etag"), headers.get("cache-control")], [null, "no-store"]);
  assert.equal(error.request_id, headers.get("x-request-id"));
  const line = new RegExp(`${error.request_id} the asset [0-9a-f]{64} could not be loaded: ${cause}`);
  await until(`the log has ${line}`, 10, () => line.test(edge.said));
}

before(async () => {
  await origin.listen(stack.origin);
  await edge.start();
});
after(async () => {
  await edge.kill();
  origin.close();
});

test("files are served whole, with their headers, and have the hash of their content as ETag", async () => {
  for (const [path, type] of [
    ["/v1/docs", "text/html; charset=utf-8"],
    ["/v1/docs/verify", "text/html; charset=utf-8"],
    ["/v1/docs/errors.md", "text/markdown; charset=utf-8"],
    ["/v1/docs/site.css", "text/css; charset=utf-8"],
    ["/v1/docs/rds_verifier.js?v=1", "text/javascript; charset=utf-8"],
    ["/v1/docs/rds_verifier_bg.wasm", "application/wasm"],
    ["/favicon.ico", "image/svg+xml"],
  ]) {
    for (const time of ["first", "second"]) {
      const { status, headers, body } = await ask(path);
      assert.deepEqual([status, headers.get("content-type")], [200, type], `${path}, ${time} time`);
      assert.equal(headers.get("etag"), `"${sha256(body).slice(0, 24)}"`, path);
      assert.equal(Number(headers.get("content-length")), body.length, path);
      assert.match(headers.get("content-security-policy"), /^default-src 'none'/);
      assert.match(headers.get("x-request-id"), /^[0-9a-f]{32}$/);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
    }
  }
  assert.ok((await ask("/v1/docs/rds_verifier_bg.wasm")).body.subarray(0, 4).equals(Buffer.from("\0asm")));
});

test("the OpenAPI document is the committed one", async () => {
  const { status, headers, body } = await ask("/v1/openapi.json");
  assert.deepEqual([status, headers.get("content-type"), headers.get("x-cache")], [200, "application/json", "BYPASS"]);
  assert.ok(body.equals(OPENAPI));
  assert.match(headers.get("etag"), /^"[^"]+"$/);
});

test("HEAD and conditional requests have the headers of the whole response and no body", async () => {
  for (const path of ["/v1/docs/limits", "/v1/docs/rds_verifier_bg.wasm", "/v1/openapi.json"]) {
    const head = await ask(path, { method: "HEAD" });
    const etag = head.headers.get("etag");
    const unchanged = await ask(path, { "if-none-match": etag });
    assert.deepEqual([unchanged.status, unchanged.body.length, unchanged.headers.get("etag")], [304, 0, etag], path);
    const whole = await ask(path, { "if-none-match": '"other"' });
    assert.deepEqual([whole.status, head.status, head.body.length], [200, 200, 0], path);
    for (const name of ["etag", "content-type", "content-length", "cache-control", "content-security-policy"]) {
      assert.equal(head.headers.get(name), whole.headers.get(name), `${path}: ${name}`);
    }
  }
});

test("pages are served while the origin is away", async () => {
  origin.isAway = true;
  try {
    assert.equal((await ask("/v1/docs/keys")).status, 200);
    const missing = await ask("/v1/docs/nope", { accept: "text/html" });
    assert.deepEqual([missing.status, missing.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
  } finally {
    origin.isAway = false;
  }
});

test("a file that is missing, cut or changed is not served, until it is right again", async () => {
  const path = "/v1/docs/webhooks";
  const file = await assetOf(path);
  const content = readFileSync(file);
  renameSync(file, `${file}.moved`);
  await assertUnavailable(path, "the binding answered 404");
  assert.equal((await ask(path, { method: "HEAD" })).status, 200);
  writeFileSync(file, content.subarray(1));
  await assertUnavailable(path, `it has ${content.length - 1} bytes instead of ${content.length}`);
  writeFileSync(file, Buffer.concat([content.subarray(0, -1), Buffer.from("?")]));
  await assertUnavailable(path, "its content does not have the hash that is its name");
  renameSync(`${file}.moved`, file);
  assert.ok((await ask(path)).body.equals(content));
});

test("an isolate keeps the files that it has read", async () => {
  const path = "/v1/docs/paging";
  const { body } = await ask(path);
  const file = await assetOf(path);
  renameSync(file, `${file}.moved`);
  assert.ok((await ask(path)).body.equals(body));
  await assertUnavailable(path, "the binding answered 404", stack.twin);
  renameSync(`${file}.moved`, file);
  assert.ok((await ask(path, { port: stack.twin })).body.equals(body));
});

test("without the binding, pages are unavailable and everything else is served", async () => {
  await ask("/unbound", { method: "PUT", port: stack.twin });
  await assertUnavailable("/v1/docs/decisions", "ASSETS is not bound", stack.twin);
  assert.equal((await ask("/v1/vaults", { port: stack.twin })).status, 200);
  const missing = await ask("/v1/docs/nope", { accept: "text/html", port: stack.twin });
  assert.deepEqual([missing.status, JSON.parse(missing.body).error.code], [404, "NOT_FOUND"]);
  await ask("/unbound", { method: "DELETE", port: stack.twin });
  assert.equal((await ask("/v1/docs/decisions", { port: stack.twin })).status, 200);
});
