// The callers of a campaign: readers of public and keyed pages, callers that share a key with an exact limit, callers with revoked
// keys, and callers without a key that send hostile requests.

import { hostileRequest, sendRaw } from '../../edge/tests/hostile.mjs';
import { mint, revoke } from '../operator.mjs';
import { requestOnNewConnection } from '../stack.mjs';
import { numberIn } from './writers.mjs';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
/** Longer than the service delays any response during a fault, and shorter than the minute after which it gives up a read. */
const TIMEOUT_MILLIS = 20_000;

class Caller {
  stopped = false;

  start() {
    this.done = this.run();
  }

  stop() {
    this.stopped = true;
    return this.done;
  }

  /** Sends one request and records its response. `facts` are `{who, edgeIndex, target, kind, group}`; `edgeIndex` is the index of the edge. */
  async ask({ headers, ...facts }) {
    const began = performance.now();
    const sent = requestOnNewConnection(this.edgeUrls[facts.edgeIndex], facts.target, { headers, timeout: TIMEOUT_MILLIS });
    const answer = await sent.catch((error) => ({ broke: error.code ?? error.name }));
    return this.answers.note(facts, began, answer);
  }
}

/** Reads pages at one edge, sometimes with a conditional request. */
export class Reader extends Caller {
  #tags = new Map();

  constructor(name, edgeIndex, { dice, edgeUrls, answers, groups, key, decision }) {
    super();
    Object.assign(this, { name, edgeIndex, dice, edgeUrls, answers });
    const pages = groups.flatMap((group) => [
      { kind: 'list', group: group.name, target: `/v1/vaults?protocol=${group.protocol}&limit=50` },
      { kind: 'list', group: group.name, target: `/v1/vaults?protocol=${group.protocol}&limit=100&sortBy=name`, headers: key.headers },
      { kind: 'detail', group: group.name, target: `/v1/vaults/${group.vaults[0]}?points=2` },
    ]);
    this.pages = [
      ...pages,
      { kind: 'events', target: '/v1/events?eventType=Notice&limit=50' },
      { kind: 'verify', target: `/v1/graph/decision/${decision}/verify` },
      { kind: 'chains', target: '/v1/chains' },
    ];
  }

  async run() {
    while (!this.stopped) {
      await this.read(this.dice.pick(this.pages));
      await sleep(this.dice.between(10, 120));
    }
  }

  async read({ headers, ...page }) {
    const tag = this.dice.chance(0.3) ? this.#tags.get(page.target) : undefined;
    const condition = tag && { 'if-none-match': tag };
    const note = await this.ask({ who: this.name, edgeIndex: this.edgeIndex, ...page, headers: { ...headers, ...condition } });
    if (note.status === 200) {
      Object.assign(note, contentOf(page.kind, note.json));
      if (note.etag) this.#tags.set(page.target, note.etag);
    }
    delete note.json; // The record contains what the verdict needs; all bodies would take too much memory.
    return note;
  }
}

/** The written states and events that a page shows. */
function contentOf(kind, json) {
  switch (kind) {
    case 'list':
      return { numbers: json.data.map(numberIn) };
    case 'detail':
      return { numbers: [numberIn(json.data.vault)] };
    case 'events':
      return { titles: json.data.map(({ title }) => title) };
    case 'verify':
      // The check of the signer's active period is left out: it is negative while a changed signer registry cannot be read.
      return { isTrue: json.data.signatureValid && json.data.envelopeIntact && json.data.signerRecognized };
    default:
      return {};
  }
}

/** Sends requests with one key faster than its limit allows, at both edges. */
export class MeteredCaller extends Caller {
  constructor(name, { dice, edgeUrls, answers, key, limit }) {
    super();
    Object.assign(this, { name, dice, edgeUrls, answers, key, limit });
  }

  async run() {
    while (!this.stopped) {
      const facts = { who: this.name, edgeIndex: this.dice.between(0, this.edgeUrls.length - 1), target: '/v1/chains', kind: 'metered', key: this.key.id, limit: this.limit };
      const note = await this.ask({ ...facts, headers: this.key.headers });
      delete note.json;
      await sleep(this.dice.between(100, 500));
    }
  }
}

/** Sends bursts of requests with one key, at a random edge each: so many that the edge reserves requests, and more than the limit allows. */
export class Crowd extends Caller {
  static SIZE = 24;
  static WAVES = 3;

  constructor(name, { dice, edgeUrls, answers, key, limit }) {
    super();
    Object.assign(this, { name, dice, edgeUrls, answers, key, limit });
  }

  async run() {
    while (!this.stopped) {
      const edgeIndex = this.dice.between(0, this.edgeUrls.length - 1);
      const member = async () => {
        for (let wave = 0; wave < Crowd.WAVES && !this.stopped; wave += 1) {
          const facts = { who: this.name, edgeIndex, target: '/v1/chains', kind: 'crowded', key: this.key.id, limit: this.limit };
          const note = await this.ask({ ...facts, headers: this.key.headers });
          delete note.json;
        }
      };
      await Promise.all(Array.from({ length: Crowd.SIZE }, member));
      await sleep(this.dice.between(300, 900));
    }
  }
}

/** Sends hostile requests without a key, each from a new address. */
export class Stranger extends Caller {
  #addresses = 0;

  constructor(name, edgeIndex, { dice, edgeUrls, answers }) {
    super();
    Object.assign(this, { name, edgeIndex, dice, edgeUrls, answers });
  }

  async run() {
    const port = Number(new URL(this.edgeUrls[this.edgeIndex]).port);
    while (!this.stopped) {
      this.#addresses += 1;
      const address = `172.${16 + this.edgeIndex}.${(this.#addresses >> 8) & 255}.${this.#addresses & 255}`;
      const sent = hostileRequest(this.dice, address);
      const began = performance.now();
      const status = await sendRaw(port, sent, TIMEOUT_MILLIS);
      const target = sent.subarray(0, 200).toString('latin1').split('\r\n')[0];
      this.answers.push({ who: this.name, edgeIndex: this.edgeIndex, target, kind: 'hostile', status, began, ended: performance.now() });
      await sleep(this.dice.between(20, 150));
    }
  }
}

/** Mints keys, revokes them, and continues to use them. */
export class Revoked extends Caller {
  /** `{headers, at}`; `at` is when the revocation was acknowledged. */
  keys = [];
  #resting = false;

  constructor({ dice, edgeUrls, answers, description }) {
    super();
    Object.assign(this, { dice, edgeUrls, answers, description });
  }

  async run() {
    while (!this.stopped) {
      if (!this.#resting) {
        this.busy = this.#mintAndRevoke().catch(() => {}); // The database is unavailable; the next round mints another key.
        await this.busy;
      }
      for (let times = 0; times < 8 && !this.stopped; times += 1) {
        const key = this.keys.length > 0 ? this.dice.pick(this.keys) : undefined;
        if (key) await this.#use(key);
        await sleep(this.dice.between(100, 400));
      }
    }
  }

  async #mintAndRevoke() {
    const key = await mint(this.description, { plan: 'data', rpm: 6000 });
    for (const edgeIndex of this.edgeUrls.keys()) await this.#use(key, edgeIndex);
    for (;;) {
      if (this.stopped) return;
      try {
        await revoke(this.description, key);
        break;
      } catch {
        await sleep(500);
      }
    }
    this.keys.push(Object.assign(key, { at: performance.now() }));
  }

  async #use(key, edgeIndex = this.dice.between(0, this.edgeUrls.length - 1)) {
    const note = await this.ask({ who: 'revoked', edgeIndex, target: '/v1/chains', kind: 'revoked', key: key.id, revoked: key.at, headers: key.headers });
    delete note.json;
  }

  /** Waits until the current key is revoked, and mints no other until `goOn`. */
  async rest() {
    this.#resting = true;
    await this.busy;
  }

  goOn() {
    this.#resting = false;
  }
}
