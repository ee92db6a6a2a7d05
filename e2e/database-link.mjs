// A TCP relay between the origin and Postgres that can be slowed, cut or silenced.

import { createConnection, createServer } from 'node:net';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** Starts a relay to the database of `url`. The returned `url` is for the origin. */
export async function databaseLink(url) {
  const target = new URL(url);
  const pairs = new Set();
  let state = 'through';
  let delay = 0;

  const server = createServer((client) => {
    if (state === 'cut') return client.destroy();
    const upstream = createConnection(Number(target.port), target.hostname);
    const pair = [client, upstream];
    pairs.add(pair);
    for (const [from, to] of [pair, pair.toReversed()]) {
      from.on('error', () => {});
      carry(from, to);
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
    if (state === 'silent') hold(pair);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

  const here = new URL(url);
  here.port = String(server.address().port);
  return {
    url: here.href,
    /** As when Postgres is stopped: connections break, and new ones are closed at once. */
    cut() {
      state = 'cut';
      for (const pair of pairs) pair.forEach((socket) => socket.destroy());
    },
    /** As when the machine of Postgres is gone: connections stay open, and no data arrives. */
    silence() {
      state = 'silent';
      pairs.forEach(hold);
    },
    /** As when Postgres is far away or overloaded: data in both directions arrives `millis` later. */
    slow(millis) {
      delay = millis;
    },
    /** Back to normal operation. */
    restore() {
      const held = state === 'silent';
      [state, delay] = ['through', 0];
      if (held) for (const pair of pairs) pair.forEach((socket) => socket.resume());
    },
    close() {
      this.cut();
      server.close();
    },
  };

  /** Forwards data in order, after the delay, with backpressure. */
  function carry(from, to) {
    let last = Promise.resolve();
    from.on('data', (piece) => {
      const due = performance.now() + delay;
      last = last.then(() => (due > performance.now() ? sleep(due - performance.now()) : undefined)).then(() => {
        if (to.destroyed || to.write(piece)) return;
        from.pause();
        to.once('drain', () => state !== 'silent' && from.resume());
      });
    });
    from.on('end', () => last.then(() => to.end()));
  }

  function hold(pair) {
    pair.forEach((socket) => socket.pause());
  }
}
