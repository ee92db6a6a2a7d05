// A scripted origin that commits score runs and leads the replica from one state to the next; tests damage what it sends.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Edge, Origin, SECRET, until } from "../stack.mjs";
import { delta, grown, manifest, market, scored, seal, segmentsAnswer, stamp, update, without } from "./documents.mjs";

const KEY = { id: "k1", secret: SECRET };
/** The lists that are made from rows. */
export const LISTS = [
  "/v1/vaults", "/v1/chains", "/v1/protocols", "/v1/curators", "/v1/assets", "/v1/stats", "/v1/markets", "/v1/oracle",
  "/v1/royco", "/v1/assets/enriched", "/v1/assets/enriched/facets", "/v1/rwa", "/v1/rwa/facets", "/v1/reviewers", "/v1/security-events",
  "/v1/security-events/losses",
];

export class ReplicaOrigin extends Origin {
  /** The committed states, oldest first. The score of every vault of a state is its version. */
  states = [];
  /** Makes another answer of the one to a message: bytes, `{ half: bytes }` or `{ status }`. */
  fault = (path, message, bytes) => bytes;
  /** Numbers of the formats that it makes documents in. */
  formats = [2];
  /** Messages of the edge, by path. */
  asked = { "/__edge/replica": [], "/__edge/segments": [] };
  #segments = new Map();

  constructor({ vaults = 60 } = {}) {
    super();
    this.version = 0;
    this.commit({ rows: grown(market(), vaults) });
    this.replica = (path, message) => {
      this.asked[path].push(message);
      if (!this.formats.includes(message.format)) return { status: 409 };
      const isUpdate = path === "/__edge/replica";
      const bytes = isUpdate ? this.update(message) : segmentsAnswer(message.names.map((name) => this.segment(name)));
      return this.fault(path, message, bytes);
    };
  }

  /** The committed state. */
  get state() {
    return this.states.at(-1);
  }

  /** Commits a score run over `rows`, which are those before unless given. */
  commit({ rows = this.state.rows, withheld = this.state?.withheld ?? [], version = this.version + 1, run = version } = {}) {
    const after = scored(rows, run);
    const tags = `vaults=${version};markets=1;feeds=1;assets=1;security=1`;
    const state = { rows: after, name: after.name(), version, tags, withheld };
    if (this.state) this.state.next = delta(this.state, state);
    this.states.push(state);
    this.version = version;
  }

  /** Commits that a chain is withheld. */
  withhold(chain) {
    this.commit({ rows: without(this.state.rows, chain), withheld: [chain] });
  }

  /** Goes back to the state of `version`, as a database that was restored from a backup. */
  restore(version) {
    this.states = this.states.filter((state) => state.version <= version);
    delete this.state.next;
    this.version = version;
  }

  /** A state's documents, sealed. */
  sealed(state, { key = KEY, format = this.formats.at(-1) } = {}) {
    const sealedAs = (kind, content) => seal(kind, content, key, format);
    return {
      stamp: sealedAs("stamp", stamp(state, Date.now())),
      manifest: () => {
        state.manifest ??= manifest(state.name, state.rows);
        for (const [name, bytes] of state.manifest.segments) this.#segments.set(name, bytes);
        return sealedAs("manifest", state.manifest.content);
      },
      next: state.next && sealedAs("delta", state.next),
    };
  }

  /** What leads from the asker's state to the committed one. */
  update({ have, whole, format }) {
    const { stamp, manifest } = this.sealed(this.state, { format });
    const at = whole ? -1 : this.states.findLastIndex(({ name }) => name.toString("hex") === have);
    if (at < 0) return update({ stamp, manifest: manifest(), deltas: [] });
    const deltas = this.states.slice(at, -1).map((state) => this.sealed(state, { format }).next);
    return update({ stamp, deltas: deltas.length > 0 ? deltas : undefined });
  }

  segment(name) {
    return this.#segments.get(name) ?? Buffer.alloc(0);
  }
}

/** A Worker in two isolates, whose clock can be moved. */
export class ControlledEdge extends Edge {
  /** How far the clocks of both isolates are ahead of the machine's, in milliseconds. */
  ahead = 0;
  #callers = 0;

  get ports() {
    return [this.port, this.twin];
  }

  now() {
    return Date.now() + this.ahead;
  }

  /** Starts the process with the clock where it is, and waits until `path` is answered with 200. */
  async start(path = "/ready") {
    await super.start(`/__test?ahead=${this.ahead}`);
    await this.control(`ahead=${this.ahead}`);
    await until("the Worker answers", 30, async () => (await this.get(path)).status === 200);
  }

  async restart(path) {
    await this.kill();
    await this.start(path);
  }

  /** Moves the clock of both isolates. */
  async pass(seconds) {
    this.ahead += seconds * 1000;
    await this.control(`ahead=${this.ahead}`);
  }

  /** Sends a command to both isolates. */
  async control(command) {
    for (const port of this.ports) await this.get(`/__test?${command}`, { port });
  }

  /** A read from a new address at an isolate. */
  read(path, port = this.port) {
    this.#callers += 1;
    return this.get(path, { port, ip: `10.${(this.#callers >> 8) & 255}.${this.#callers & 255}.7` });
  }

  /** Reads a page of vaults that is in no cache. */
  readNew(port) {
    return this.read(`/v1/vaults?limit=${1 + (this.#callers % 50)}&minTvl=0.${this.#callers}`, port);
  }

  /** Waits until an isolate, or both, answer from current rows. */
  async warm(...ports) {
    for (const port of ports.length > 0 ? ports : this.ports) {
      await until("the isolate has rows", 60, async () => isCurrent(await this.readNew(port)));
    }
  }

  /** Tells the edge the committed version of the origin; resolves when it is acknowledged. */
  async tell({ version, state }, withheld = state.withheld) {
    const { status } = await this.tellTags(`vaults=${version}`, withheld);
    if (status !== 204) throw new Error(`the edge answered ${status}`);
  }

  /** Number of lines in the log of the Worker that match `pattern`. */
  logged(pattern) {
    return this.said.split("\n").filter((line) => pattern.test(line)).length;
  }
}

/** A scripted origin, and a Worker with empty disks in front of it that is not started yet. */
export async function laidOut(stack, options) {
  const objects = join(stack.folder, "objects");
  rmSync(objects, { recursive: true, force: true });
  mkdirSync(objects, { recursive: true });
  const origin = new ReplicaOrigin(options);
  await origin.listen(stack.origin);
  return { origin, edge: new ControlledEdge(stack) };
}

/** Ends both, and shows the end of the Worker's log. */
export async function ended({ origin, edge }) {
  if (edge.said) console.error(`workerd said:\n${edge.said.slice(-1_000)}`);
  await edge.kill();
  origin.close();
}

export const cache = ({ headers }) => headers["x-cache"];
export const isOfReplica = ({ headers }) => headers["cache-status"]?.startsWith("rds-replica; hit, ") ?? false;

/** Whether an answer was made from rows that are as new as the origin's. */
export const isCurrent = (reply) => isOfReplica(reply) && cache(reply) !== "STALE-ERROR";

/** The version of the state that a page of vaults was made from, by rows or by the origin; NaN for a mixture of states. */
export function versionOf({ body }) {
  const { data, version } = JSON.parse(body);
  if (version !== undefined) return version;
  const scores = new Set(data.map(({ total_score }) => Math.round(total_score * 100)));
  return scores.size === 1 ? [...scores][0] : NaN;
}

/** A body without what depends on the clock. */
export const timeless = ({ body }) => body.replace(/"(freshness_seconds|age_seconds)":(\d+|null)/g, '"$1":0');
