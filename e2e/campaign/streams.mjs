// Clients of the event stream: they connect, disconnect, pause and resume from the last id they received.

import { createParser } from 'eventsource-parser';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
const STREAM = '/v1/events/stream';
const OPERATIONS = ['published', 'promoted', 'retracted'];

/** The behaviour of a client. `leaves` and `sleeps` are probabilities per chunk read; a `filtered` client asks for one vault. */
export const HABITS = {
  steady: {},
  restless: { leaves: 0.03 },
  sleepy: { sleeps: 0.02 },
  filtered: { filtered: true, leaves: 0.02 },
};

/** One client over all of its connections. `frames` is everything it received, in order. */
export class Client {
  /** `{connection, event, number, title, gap}`; `number` is the sequence number of the frame's id (a BigInt), if it has one. */
  frames = [];
  connections = 0;
  cursor = null;
  stopped = false;
  #stop = new AbortController();
  #return;

  constructor(name, { dice, origins, key, habit, vault, seen }) {
    Object.assign(this, { name, dice, origins, key, habit: HABITS[habit], vault: HABITS[habit].filtered ? vault : null, seen });
  }

  /** Starts the client; resolves when it is connected for the first time. */
  start() {
    return new Promise((resolve) => {
      this.connected = resolve;
      this.done = this.run();
    });
  }

  /** Stops the client. */
  stop() {
    this.stopped = true;
    this.comeBack();
    this.#stop.abort();
    return this.done;
  }

  /** The last sequence number it received; -1 before the first. */
  get place() {
    return this.cursor === null ? -1n : numberOf(this.cursor);
  }

  /** Disconnects until `comeBack`, which resumes from the last id received. */
  leave() {
    this.away = new Promise((resolve) => (this.#return = resolve));
    this.#stop.abort();
  }

  comeBack() {
    this.#return?.();
    this.away = undefined;
  }

  /** From now on the client neither leaves nor sleeps. */
  calm() {
    this.habit = {};
  }

  async run() {
    while (!this.stopped) {
      await this.away;
      this.#stop = new AbortController();
      await this.connection().catch(() => {}); // It reconnects however the connection ended.
      await sleep(this.dice.between(10, 200));
    }
  }

  async connection() {
    const query = this.vault === null ? '' : `?vaultId=${this.vault}`;
    const response = await fetch(new URL(`${STREAM}${query}`, this.dice.pick(this.origins).relay), {
      headers: { authorization: `Bearer ${this.key}`, ...(this.cursor !== null && { 'last-event-id': this.cursor }) },
      signal: this.#stop.signal,
    });
    if (response.status !== 200) return void (await response.text());
    this.connections += 1;
    const parser = createParser({ onEvent: (frame) => this.take(frame) });
    const decoder = new TextDecoder();
    const pieces = response.body.getReader();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (this.dice.chance(this.habit.leaves ?? 0)) return void (await pieces.cancel());
      if (this.dice.chance(this.habit.sleeps ?? 0)) await sleep(this.dice.between(500, 3000));
    }
  }

  take({ id, event, data }) {
    const body = JSON.parse(data);
    const frame = { connection: this.connections, event };
    if (event === 'ready') {
      // The position to resume from until the client receives an id.
      this.cursor ??= body.replay.cursor;
      this.connected();
      return;
    }
    if (event === 'gap') {
      frame.gap = body;
      if (body.reason === 'replay_truncated') this.cursor = body.cursor;
    }
    if (id !== undefined) {
      frame.number = numberOf(id);
      this.cursor = id;
    }
    if (OPERATIONS.includes(event)) {
      frame.title = body.title;
      this.seen?.();
    }
    this.frames.push(frame);
  }
}

/** The sequence number of a cursor. */
export const numberOf = (cursor) => BigInt(/^v2:(\d+)$/.exec(cursor)[1]);
