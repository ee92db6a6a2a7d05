// The wire between the origin and Postgres, with a switch: through, cut, or silent.

import { createConnection, createServer } from 'node:net';

/** A TCP relay to the database of `url`. Its own `url` is what the origin is given instead. */
export async function databaseLink(url) {
  const target = new URL(url);
  const pairs = new Set();
  let state = 'through';

  const server = createServer((client) => {
    if (state === 'cut') return client.destroy();
    const upstream = createConnection(Number(target.port), target.hostname);
    const pair = [client, upstream];
    pairs.add(pair);
    for (const [from, to] of [pair, pair.toReversed()]) {
      from.on('error', () => {});
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
      from.pipe(to);
    }
    if (state === 'silent') hold(pair);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

  const here = new URL(url);
  here.port = String(server.address().port);
  return {
    url: here.href,
    /** As when Postgres is stopped: connections break, and new ones are thrown out. */
    cut() {
      state = 'cut';
      for (const pair of pairs) pair.forEach((socket) => socket.destroy());
    },
    /** As when its machine is gone: connections stay, and nothing comes back. */
    silence() {
      state = 'silent';
      pairs.forEach(hold);
    },
    /** As before. */
    restore() {
      const held = state === 'silent';
      state = 'through';
      // A pair that flows already must not be joined twice: each byte would arrive doubled.
      if (!held) return;
      for (const [client, upstream] of pairs) {
        client.pipe(upstream);
        upstream.pipe(client);
      }
    },
    close() {
      this.cut();
      server.close();
    },
  };

  function hold([client, upstream]) {
    client.unpipe(upstream).pause();
    upstream.unpipe(client).pause();
  }
}
