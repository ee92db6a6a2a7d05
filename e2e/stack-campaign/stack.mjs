// The whole stack as processes under a supervisor: Postgres on a separate disk, two origins with a database connection that can be
// degraded, and workerd with two versions of the Worker over the same Durable Objects.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Origin, Part, Postgres } from '../campaign/cluster.mjs';
import { databaseLink } from '../database-link.mjs';
import { request, until } from '../stack.mjs';
import { Disk } from './disk.mjs';

/** Interval at which the supervisor restarts ended processes. */
const RESTART_INTERVAL_MILLIS = 250;
/** Time that workerd has after a signal to answer pending requests. */
const GRACE_MILLIS = 3000;
/** Number of lines of each log that a failure shows. */
const LOG_LINES = 12;
/**
 * A small write-ahead log, because the disk is small, but enough for a running backup. The restore command fails, so that recovery
 * uses the backup's log alone.
 */
const SETTINGS = ['max_wal_size=128MB', 'wal_keep_size=64MB', 'restore_command=false'];

/** workerd with both versions of the Worker. One of them hosts the Durable Objects. */
class Edge extends Part {
  /** The version that hosts the Durable Objects, 0 or 1. */
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

  /** Ends workerd, with SIGKILL after the grace period because open streams keep it running. */
  async end(signal) {
    const timer = setTimeout(() => this.signal('SIGKILL'), GRACE_MILLIS);
    await super.end(signal);
    clearTimeout(timer);
  }
}

/** All processes, with the record of the faults. */
export class Stack {
  /** `{what, hit, from, to}` by `performance.now()`, from the fault until all responses were fresh again. `hit` is the part whose connections may break. */
  faults = [];
  /** Parts that the supervisor must not restart now. */
  #heldDown = new Set();
  /** Parts that were ended on purpose and not yet restarted. */
  #ended = new Set();
  /** Unexpected process ends: `{name, how, at}`. */
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
      // The second origin has a system clock that can be shifted.
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

  /** The URLs of both versions of the edge. */
  get edgeUrls() {
    return this.edge.versions;
  }

  /** From now on restarts every process that ends, as a service manager does; nothing else starts processes. */
  supervise() {
    this.supervisor = setInterval(() => {
      for (const part of this.parts) {
        if (part.isRunning || this.#heldDown.has(part)) continue;
        const { exitCode, signalCode } = part.child ?? {};
        if (part.child && !this.#ended.delete(part)) this.endings.push({ name: part.name, how: signalCode ?? exitCode, at: performance.now() });
        part.launch();
      }
    }, RESTART_INTERVAL_MILLIS);
  }

  /** Keeps the supervisor from restarting `parts` while `act` runs. */
  async without(parts, act) {
    for (const part of parts) {
      this.#heldDown.add(part);
      this.#ended.add(part);
    }
    try {
      return await act();
    } finally {
      for (const part of parts) this.#heldDown.delete(part);
    }
  }

  /** Moves the test clock of the origins; each origin has its own. */
  async advance(seconds, origins = this.origins) {
    const body = JSON.stringify({ advance_seconds: seconds });
    for (const origin of origins) await origin.operate('/clock', { method: 'PUT', body });
  }

  /** Shifts the system clock of the second origin by a number of hours. */
  shift(hours) {
    writeFileSync(this.clock, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h`);
  }

  /** Whether both edges and both origins are ready. */
  async isReady() {
    const ready = (base) => request(base, '/ready', { timeout: 5000 }).then(({ status }) => status === 200, () => false);
    const answers = await Promise.all([...this.edgeUrls, ...this.origins.map(({ relay }) => relay)].map(ready));
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

  /** The last lines of each process's log. */
  lastWords() {
    const tail = ({ name, log }) => `${name}:\n${readFileSync(log.path, 'utf8').split('\n').slice(-LOG_LINES).join('\n')}`;
    return this.parts.map(tail).join('\n');
  }
}
