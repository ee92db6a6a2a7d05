// The faults of the whole stack. Each breaks a part under load, with random choices from a `Dice`, and then ends the failure; the stack
// must recover by itself.

import { request, until } from '../stack.mjs';

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
/** Time limit for the other parts to notice that a part has failed. */
const DETECTION_SECONDS = 30;

/** The status of `/ready` of an origin; 0 without a response. */
const readiness = (origin) => request(origin.relay, '/ready', { timeout: 5000 }).then(({ status }) => status, () => 0);

/** The state of writes in `/ready` of an origin: `taken`, `failing`, a status other than 200, or `away` without a response. */
const writes = (origin) =>
  request(origin.relay, '/ready', { timeout: 5000 }).then(({ status, json }) => (status === 200 ? (json.writes ?? 'taken') : `${status}`), () => 'away');

/**
 * The faults by name: `{act, hit, why, restores, fills}`. `hit` is `edge` if connections to the edge may break. `why` is the reason why
 * this machine does not support the fault. `restores` marks restores, and `fills` a full database disk.
 */
export function faultsOf(stack, { writers, restore, restoreTwice, restoreOlder, restorePromoted }) {
  const { postgres, origins, edge, link, disk } = stack;
  const [a, b] = origins;
  const endFor = (parts, signal, minMillis, maxMillis) => (dice) =>
    stack.without(parts, async () => {
      await Promise.all(parts.map((part) => part.end(signal)));
      await sleep(dice.between(minMillis, maxMillis));
    });
  return {
    'an origin is killed': { act: (dice) => endFor([dice.pick(origins)], 'SIGKILL', 0, 1500)(dice) },
    'both origins are killed': { act: endFor(origins, 'SIGKILL', 0, 3000) },
    'an origin freezes': {
      act: async (dice) => {
        const frozen = dice.pick(origins);
        frozen.signal('SIGSTOP');
        await sleep(dice.between(1000, 6000));
        frozen.signal('SIGCONT');
      },
    },
    'both origins hang': {
      act: async (dice) => {
        for (const origin of origins) origin.signal('SIGSTOP');
        await sleep(dice.between(3000, 10_000));
        for (const origin of origins) origin.signal('SIGCONT');
      },
    },
    'Postgres is stopped': { act: endFor([postgres], 'SIGINT', 500, 5000) },
    'Postgres stops at once': { act: endFor([postgres], 'SIGQUIT', 0, 3000) },
    'Postgres and both origins stop at once': { act: (dice) => endFor([postgres, ...origins], dice.pick(['SIGQUIT', 'SIGKILL']), 0, 2000)(dice) },
    'Postgres is restored from a backup': { act: (dice) => restore(dice, { stopsOrigins: true }), restores: true },
    'Postgres is restored behind running origins': { act: (dice) => restore(dice, { stopsOrigins: false }), restores: true },
    'Postgres is restored twice from one backup': { act: restoreTwice, restores: true },
    'Postgres is restored from before its last restore': { act: restoreOlder, restores: true },
    'Postgres is promoted, and then restored from before that': { act: restorePromoted, restores: true },
    'the edge is killed': { act: endFor([edge], 'SIGKILL', 0, 1500), hit: 'edge' },
    'the edge is replaced by its other version': {
      act: async () => {
        await stack.without([edge], async () => {
          await edge.end('SIGTERM');
          edge.seat = 1 - edge.seat;
        });
      },
      hit: 'edge',
    },
    "both origins' time jumps hours ahead, and back": {
      act: async (dice) => {
        const seconds = dice.between(1, 5) * 3600;
        await stack.advance(seconds);
        await sleep(dice.between(2000, 5000));
        await stack.advance(-seconds);
      },
    },
    "one origin's time falls hours behind, and comes back": {
      act: async (dice) => {
        const seconds = dice.between(1, 5) * 3600;
        await stack.advance(-seconds, [a]);
        await sleep(dice.between(2000, 5000));
        await stack.advance(seconds, [a]);
      },
    },
    "one machine's clock is set wrong, and right again": {
      act: async (dice) => {
        stack.shift(dice.pick([-5, -2, 2, 5]));
        await sleep(dice.between(2500, 6000));
        stack.shift(0);
      },
      why: stack.clock ? undefined : 'libfaketime is not installed',
    },
    "the database's disk is full": {
      act: async (dice) => {
        const before = writers.map(({ batches }) => batches.length);
        await disk.fill();
        // Writes continue as long as Postgres has room in its existing files, and then fail.
        await until('all writes fail', DETECTION_SECONDS, async () => {
          if (!disk.isFull) await disk.fill();
          const [now, later] = [writers.map(({ batches }) => batches.length), await sleep(2000).then(() => writers.map(({ batches }) => batches.length))];
          return now.every((count, place) => count === later[place]) && now.some((count, place) => count >= before[place]);
        });
        const bothReport = (state) => async () => (await Promise.all([a, b].map(writes))).every((reported) => reported === state);
        await until('both origins report failing writes and stay ready', DETECTION_SECONDS, bothReport('failing'));
        await sleep(dice.between(500, 3000));
        disk.free();
        await until('both origins report that writes succeed again', DETECTION_SECONDS, bothReport('taken'));
      },
      why: disk.limit,
      fills: true,
    },
    'the database is slow': {
      act: async (dice) => {
        link.slow(200);
        await sleep(dice.between(4000, 8000));
        link.restore();
      },
    },
    'the database falls silent': {
      act: async (dice) => {
        link.silence();
        await until('both origins answer 503 at /ready', DETECTION_SECONDS, async () => (await Promise.all([a, b].map(readiness))).every((status) => status === 503));
        await sleep(dice.between(1000, 5000));
        link.restore();
      },
    },
  };
}
