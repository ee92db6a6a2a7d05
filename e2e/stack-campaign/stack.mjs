// The whole stack as processes under a supervisor: Postgres on a disk of its own, two origins behind a wire that can be made bad,
// and workerd with two versions of the Worker over the same objects.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Origin, Part, Postgres } from '../campaign/cluster.mjs';
import { databaseLink } from '../database-link.mjs';
import { request, until } from '../stack.mjs';
import { Disk } from './disk.mjs';

/** How soon the supervisor starts again what has ended. */
const LOOK_MILLIS = 250;
/** How long workerd may take to answer what it has taken in before it ends. */
const GRACE_MILLIS = 3000;
/** A log's lines that a failure shows. */
const LAST_LINES = 12;
/**
 * Postgres keeps its log small, for the disk is; and keeps what a backup in the making still needs. What is recovered comes from the
 * backup alone.
 */
const SETTINGS = ['max_wal_size=128MB', 'wal_keep_size=64MB', 'restore_command=false'];

/** workerd, with both versions of the Worker. One of the two holds the objects. */
class Edge extends Part {
  /** The version that holds the objects, 0 or 1. */
  seat = 0;

  constructor({ edge, logs }) {
    super('edge', logs);
    this.how = edge;
    this.versions = edge.ports.map((port) => `http://127.0.0.1:${port}`);
  }

  launch() {
    const { program, folder, seats, secrets } = this.how;
    this.run(program, ['serve', seats[this.seat]], { cwd: folder, env: secrets });
  }

  /** Open streams keep it from ending by itself: whoever runs it gives it a while, and then no more. */
  async end(signal) {
    const late = setTimeout(() => this.signal('SIGKILL'), GRACE_MILLIS);
    await super.end(signal);
    clearTimeout(late);
  }
}

/** Everything, with the record of what was done to it. */
export class Stack {
  /** `{what, hit, from, to}` by `performance.now()`: from the break to when everything answered fresh again. `hit` names the parts that may not answer at all. */
  faults = [];
  /** Parts that nobody starts again: they are held down on purpose. */
  #held = new Set();
  /** Parts that were ended on purpose, and not started again yet. */
  #ended = new Set();
  /** Endings that nobody had a hand in: `{name, how, at}`. */
  endings = [];

  static async start(description, more) {
    const stack = new Stack();
    const postgres = new Postgres(description);
    postgres.launch = () => Postgres.prototype.launch.call(postgres, ...SETTINGS);
    const disk = new Disk(description.postgres);
    const link = await databaseLink(description.database_url);
    const clock = description.clock === null ? undefined : join(description.edge.folder, 'clock');
    if (clock) writeFileSync(clock, '+0');
    const origins = ['origin-a', 'origin-b'].map((name, place) => {
      // One of the two lives by a clock that can be set wrong.
      const shifted = place === 1 && clock && {
        LD_PRELOAD: description.clock, FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_CACHE_DURATION: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_RESET: '1',
      };
      const origin = new Origin(name, description, description.origins_from + place * 3, { DATABASE_URL: link.url, ...more, ...shifted });
      origin.launch = () => origin.start();
      return origin;
    });
    const edge = new Edge(description);
    return Object.assign(stack, { postgres, disk, link, origins, edge, clock, parts: [postgres, ...origins, edge] });
  }

  /** Both versions of the edge, as addresses. */
  get doors() {
    return this.edge.versions;
  }

  /** From now on whatever ends is started again, as a service manager does it; nobody else starts anything. */
  supervise() {
    this.supervisor = setInterval(() => {
      for (const part of this.parts) {
        if (part.isRunning || this.#held.has(part)) continue;
        const { exitCode, signalCode } = part.child ?? {};
        if (part.child && !this.#ended.delete(part)) this.endings.push({ name: part.name, how: signalCode ?? exitCode, at: performance.now() });
        part.launch();
      }
    }, LOOK_MILLIS);
  }

  /** Holds parts down while `act` runs. */
  async without(parts, act) {
    for (const part of parts) {
      this.#held.add(part);
      this.#ended.add(part);
    }
    try {
      return await act();
    } finally {
      for (const part of parts) this.#held.delete(part);
    }
  }

  /** Moves the product's time, which each origin keeps for itself. */
  async advance(seconds, origins = this.origins) {
    const body = JSON.stringify({ advance_seconds: seconds });
    for (const origin of origins) await origin.operate('/clock', { method: 'PUT', body });
  }

  /** Moves the real time of the origin that can be shifted, by a number of hours. */
  shift(hours) {
    writeFileSync(this.clock, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h`);
  }

  /** Whether both edges and both origins say that they are ready. */
  async isReady() {
    const ready = (base) => request(base, '/ready', { timeout: 5000 }).then(({ status }) => status === 200, () => false);
    const answers = await Promise.all([...this.doors, ...this.origins.map(({ relay }) => relay)].map(ready));
    return answers.every(Boolean);
  }

  ready(seconds) {
    return until('everything is ready', seconds, () => this.isReady());
  }

  async stop() {
    clearInterval(this.supervisor);
    await this.edge.end('SIGTERM');
    for (const origin of this.origins) await origin.end('SIGKILL');
    this.link.close();
    await this.postgres.end('SIGINT');
    this.disk.release();
  }

  /** The last lines of everybody's log. */
  lastWords() {
    const tail = ({ name, log }) => `${name}:\n${readFileSync(log.path, 'utf8').split('\n').slice(-LAST_LINES).join('\n')}`;
    return this.parts.map(tail).join('\n');
  }
}
