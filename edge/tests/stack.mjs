// A Worker on real workerd in front of a scripted origin. `cargo xtask test bundle` prepares the folder.

import { createHash, createHmac, randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { createServer, request, Agent } from "node:http";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { signedAnswer } from "./link.mjs";

export const SECRET = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
// workerd closes connections after five idle seconds; this agent closes them earlier.
const agent = new Agent({ keepAlive: true, maxSockets: 256, timeout: 3_000 });

export const WINDOW_MILLIS = 60_000;
export const sha256 = (text) => createHash("sha256").update(text).digest("hex");
export const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
/** End of the current window, in milliseconds since the Unix epoch. */
export const windowEndMillis = () => (Math.floor(Date.now() / WINDOW_MILLIS) + 1) * WINDOW_MILLIS;

/** Waits until `holds` returns a value; fails after `seconds`. */
export async function until(what, seconds, holds) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await sleep(50);
  }
}

/** A scripted origin: it knows some keys, accepts usage and serves one page. */
export class Origin {
  keys = new Map();
  /** Digests whose look-ups get an error of the proxy instead of an answer. */
  silent = new Set();
  /** Digests whose look-ups are never answered. */
  hanging = new Set();
  /** Digests whose changes are not pushed to the edge. */
  untold = new Set();
  /** The edge's reports of its own responses. */
  answers = [];
  refusing = new Set();
  questions = [];
  batches = [];
  /** Whether every basket version is retired, and the committed tag version of baskets. */
  retired = false;
  baskets = 1;
  /** The committed tag version of vaults, which every answer is made from. */
  version = 1;
  /** Number of pages requested. */
  pages = 0;
  /** Evidence by decision id, and the tag version of the signer registry. */
  decisions = new Map();
  registry = 1;
  /** Whether evidence may be cached. */
  mayKeep = true;
  /** Whether callers' requests get an error of the proxy instead of an answer. */
  isAway = false;
  /**
   * Answers the replica's Durable Object: path and message to bytes, to `{ half }` for bytes in whose middle the connection breaks, or to
   * `{ status }`. Without it there is no replica.
   */
  replica;
  /** Called after the committed state was read and before the answer is sent. */
  beforeAnswer = async () => {};

  async listen(port) {
    this.server = createServer((incoming, response) => this.#answer(incoming, response));
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }

  mint(fields = {}) {
    const text = `pk_live_${randomBytes(16).toString("hex")}`;
    const id = this.keys.size + 1;
    const record = { id, org_id: 1, plan: "data", rpm: 50, shared: false, active: true, version: 1, ...fields };
    this.keys.set(sha256(text), record);
    return { text, digest: sha256(text), record };
  }

  /** The usage reported for a key; each batch is counted once. */
  usage(digest) {
    const once = new Map();
    for (const batch of this.batches.filter((batch) => batch.taken && batch.digest === digest)) {
      once.set(`${batch.source}/${batch.sequence}`, batch);
    }
    const rows = [...once.values()].flatMap((batch) => batch.rows);
    const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
    return { served: sum("served"), throttled: sum("throttled"), rows };
  }

  async #answer(incoming, response) {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const told = (sign) => (status, value, headers = {}, isBroken = false) => {
      const text = value === undefined ? "" : Buffer.isBuffer(value) ? value : JSON.stringify(value);
      const all = { "content-type": "application/json", ...headers };
      const { "x-service-assertion": assertion } = incoming.headers;
      if (sign) all["x-service-answer"] = signedAnswer(SECRET, assertion, status, all, text);
      response.writeHead(status, isBroken ? { ...all, "content-length": text.length } : all);
      if (isBroken) return response.write(text.subarray(0, text.length >> 1), () => response.destroy());
      response.end(text);
    };
    const [say, proxySays] = [told(true), told(false)];
    if (incoming.url === "/__edge/alive") return this.isAway ? proxySays(502, undefined, { "content-type": "text/html" }) : say(204);
    if (incoming.url === "/__edge/keys") {
      const { digest } = JSON.parse(body);
      this.questions.push({ digest, principal: incoming.headers["x-service-principal"] });
      if (this.hanging.has(digest)) return;
      if (this.silent.has(digest)) return proxySays(502);
      const record = this.keys.get(digest);
      return say(200, record ? { answer: "known", record, told: !this.untold.has(digest) } : { answer: "unknown" });
    }
    if (incoming.url === "/__edge/usage") {
      const batch = JSON.parse(body);
      const taken = !this.refusing.has(batch.digest);
      this.batches.push({ ...batch, taken });
      return taken ? say(204) : say(503, {});
    }
    if (incoming.url === "/__edge/answers") {
      this.answers.push(JSON.parse(body));
      return say(204);
    }
    if (this.isAway) return proxySays(502, undefined, { "content-type": "text/html" });
    if (["/__edge/replica", "/__edge/segments"].includes(incoming.url)) {
      const answer = this.replica?.(incoming.url, JSON.parse(body)) ?? { status: 404 };
      if (answer.half) return say(200, answer.half, {}, true);
      return answer.status ? say(answer.status, {}) : say(200, answer);
    }
    const [, id] = incoming.url.match(/^\/v1\/graph\/decision\/([^/]+)\/verify$/) ?? [];
    if (id) {
      const evidence = this.decisions.get(id);
      if (!evidence) return say(200, { record: null, signers: [] });
      if (!this.mayKeep) return say(200, evidence);
      const etag = `W/"${sha256(JSON.stringify(evidence))}"`;
      const kept = { "cdn-cache-control": "max-age=60, stale-if-error=86400", etag, "x-service-tags": `signers=${this.registry}` };
      return incoming.headers["if-none-match"] === etag ? say(304, undefined, kept) : say(200, evidence, kept);
    }
    if (incoming.url.startsWith("/v1/baskets/b/version/")) return this.#basket(incoming, say);
    if (!incoming.url.startsWith("/v1/vaults")) return say(200, { data: [] });
    this.pages += 1;
    const { version } = this;
    await this.beforeAnswer(incoming);
    const etag = `W/"v${version}"`;
    const kept = { "cdn-cache-control": "max-age=15, stale-if-error=86400", etag, "x-service-tags": `vaults=${version}` };
    if (incoming.headers["if-none-match"] === etag) return say(304, undefined, kept);
    return say(200, { data: [], version }, kept);
  }

  /** A basket version: immutable until it is retired. */
  #basket(incoming, say) {
    if (this.retired) {
      const request_id = incoming.headers["x-request-id"];
      const link = '</v1/baskets/b/version/next>; rel="successor-version"';
      return say(410, { error: { code: "VERSION_RETIRED", message: "", request_id, successor: "next" } }, { link, "cache-control": "no-store" });
    }
    const kept = {
      "cdn-cache-control": "max-age=60, stale-if-error=86400", "cache-control": "public, max-age=31536000, immutable",
      etag: '"hash"', "x-service-tags": `baskets=${this.baskets}`,
    };
    return incoming.headers["if-none-match"] === kept.etag ? say(304, undefined, kept) : say(200, { data: {} }, kept);
  }
}

/** A workerd process in a prepared folder. */
export class Edge {
  /** The file in the folder that configures the process. */
  configuration = "worker.capnp";

  constructor({ folder, port, twin }) {
    Object.assign(this, { folder, port, twin, said: "" });
  }

  /** Starts the process and waits until `path` is answered with 200. */
  async start(path = "/ready") {
    const environment = { ...process.env, ASSERTION_KEY: `k1:${SECRET}` };
    this.child = spawn(process.env.RDS_WORKERD, ["serve", this.configuration], { cwd: this.folder, env: environment });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (chunk) => (this.said += chunk));
    process.once("exit", () => this.child.kill("SIGKILL"));
    await until("the Worker answers", 30, () => this.get(path).then((reply) => reply.status === 200, () => false));
  }

  /** Kills the process with SIGKILL, if it runs. */
  async kill() {
    if (!this.child || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  /** One request: its status, headers, body and start time. */
  get(path, { key, ip = "192.0.2.1", port = this.port, ...headers } = {}) {
    if (key) headers.authorization = `Bearer ${key.text}`;
    return this.send("GET", path, { "cf-connecting-ip": ip, ...headers }, undefined, port);
  }

  send(method, path, headers, body, port = this.port) {
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      const options = { host: "127.0.0.1", port, method, path, headers, agent };
      const outgoing = request(options, (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
        response.once("end", () => resolve({ status: response.statusCode, headers: response.headers, body, begun }));
        response.once("error", reject);
      });
      // workerd may close a connection just as it is reused; then it has read nothing of the request.
      const again = () => this.send(method, path, headers, body, port).then(resolve, reject);
      outgoing.once("error", (error) => (outgoing.reusedSocket && error.code === "ECONNRESET" ? again() : reject(error)));
      outgoing.end(body);
    });
  }

  /** Sends a key update as the origin would; resolves when it is acknowledged. */
  tell(digest, record) {
    return this.#told("/__origin/keys", { digest, record });
  }

  /** Sends changed tag versions, such as `vaults=7`, and the chains that are withheld as of these. */
  tellTags(versions, withheld) {
    return this.#told("/__origin/tags", { versions, withheld });
  }

  /** The time by the clock of the Worker, in milliseconds since the Unix epoch. */
  now() {
    return Date.now();
  }

  #told(path, message) {
    const principal = '{"kind":"origin"}';
    const body = JSON.stringify(message);
    const seconds = Math.floor(this.now() / 1000);
    const nonce = randomBytes(16).toString("hex");
    const text = `v1\nPOST\n${path}\n${seconds}\n${nonce}\n${sha256(body)}\n${principal}`;
    const signature = createHmac("sha256", Buffer.from(SECRET, "hex")).update(text).digest("hex");
    const assertion = `v1;k1;${seconds};${nonce};${signature}`;
    return this.send("POST", path, { "x-service-assertion": assertion, "x-service-principal": principal }, body);
  }

  /** `callers` concurrent callers with `each` sequential requests; all replies. */
  async crowd(callers, each, path, options) {
    const caller = async () => {
      const replies = [];
      for (let n = 0; n < each; n += 1) replies.push(await this.get(path, options));
      return replies;
    };
    return (await Promise.all(Array.from({ length: callers }, caller))).flat();
  }

  /** Number of Durable Objects of a class that have a file. */
  files(kind) {
    return readdirSync(join(this.folder, "objects", kind)).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name)).length;
  }

  /** Number of Durable Objects of a class that have written anything. */
  written(kind) {
    return this.#logs(kind).filter((bytes) => bytes > 0).length;
  }

  /** Pages written by the Durable Objects of a class; each commit writes at least one. */
  pages(kind) {
    const page = 4_096 + 24;
    return this.#logs(kind).reduce((total, bytes) => total + Math.floor(bytes / page), 0);
  }

  /** Sizes of the write-ahead logs of a class's Durable Objects, in bytes. */
  #logs(kind) {
    const folder = join(this.folder, "objects", kind);
    const logs = readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.sqlite-wal$/.test(name));
    return logs.map((name) => statSync(join(folder, name)).size);
  }
}
