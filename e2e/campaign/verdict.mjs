// Compares what was committed with what arrived, without knowledge of how the service works.
//
// Every function returns the violations of one guarantee as sentences.

/** Operations that a client should have been shown: those with a stream event and, for a filtered client, of its vault. */
const wantedBy = (client, committed) => [...committed.values()].filter(({ op, vault }) => op !== null && (client.vault === null || vault === client.vault));

/** Operations that a client was never shown. */
export function lostOnStreams(clients, committed) {
  return clients.flatMap((client) => {
    const seen = new Set(client.frames.map(({ title }) => title));
    return wantedBy(client, committed).filter(({ title }) => !seen.has(title)).map(({ title }) => `${client.name} was never shown ${title}`);
  });
}

/** Frames of operations that were never committed, that the filter should have excluded, or whose event name is wrong. */
export function inventedOnStreams(clients, committed) {
  return clients.flatMap((client) => {
    const wanted = new Map(wantedBy(client, committed).map((operation) => [operation.title, operation]));
    const shown = client.frames.filter(({ title }) => title !== undefined);
    return shown.filter(({ title, event }) => wanted.get(title)?.op !== event).map(({ title, event }) => `${client.name} was shown ${title} as ${event}`);
  });
}

/** Ids that do not grow over all connections of a client: a client that resumes from its last id is shown nothing twice. */
export function repeatedOnStreams(clients) {
  return clients.flatMap((client) => {
    const faults = [];
    let last = -1n;
    for (const { number, event, title } of client.frames) {
      if (number === undefined) continue;
      // A checkpoint repeats the last id if no operation followed it.
      if (number < last || (number === last && event !== 'cursor')) faults.push(`${client.name} was shown ${title ?? event} with id ${number} after ${last}`);
      last = number;
    }
    return faults;
  });
}

/** Sequence numbers given to two operations, and operations with two sequence numbers, over the frames of all clients. */
export function renumbered(clients) {
  const titles = new Map();
  const numbers = new Map();
  const faults = [];
  for (const { name, frames } of clients) {
    for (const { number, title } of frames) {
      if (title === undefined) continue;
      if ((titles.get(number) ?? title) !== title) faults.push(`${name} was shown ${title} with the id of ${titles.get(number)}`);
      if ((numbers.get(title) ?? number) !== number) faults.push(`${name} was shown ${title} with id ${number} and not ${numbers.get(title)}`);
      titles.set(number, title);
      numbers.set(title, number);
    }
  }
  return faults;
}

/**
 * Sequence numbers that an unfiltered client missed without a gap. Only operations without a stream event have a number but no
 * frame, so exactly that many numbers must be missing.
 */
export function skipped(clients, committed) {
  const silent = [...committed.values()].filter(({ op }) => op === null).length;
  return clients.filter(({ vault }) => vault === null).flatMap(({ name, first, frames }) => {
    const numbers = new Set(frames.filter(({ number }) => number !== undefined && number > first).map(({ number }) => number));
    const shown = frames.filter(({ title }) => title !== undefined).map(({ number }) => number);
    const last = [...numbers].reduce((most, number) => (number > most ? number : most), first);
    const missing = Number(last - first) - new Set(shown).size;
    return missing !== silent ? [`${name} was led past ${missing} numbers where ${silent} operations are silent`] : [];
  });
}

/** Gaps with an unexpected reason, and connections that continue after a gap that must end them. */
export function unexplained(clients) {
  const closing = ['queue_overflow', 'replay_truncated', 'replay_failed'];
  return clients.flatMap(({ name, frames }) =>
    frames.flatMap((frame, place) => {
      if (frame.gap === undefined) return [];
      // Other reasons cannot occur: nothing here is a day old, and every cursor used was issued by the service.
      if (!closing.includes(frame.gap.reason)) return [`${name} got a gap with reason ${frame.gap.reason}`];
      return frames[place + 1]?.connection === frame.connection ? [`${name} was shown more after ${frame.gap.reason}`] : [];
    }),
  );
}

/** Pairs shown in the wrong order: an operation that began after another's commit was shown before it. */
export function reordered(clients, committed) {
  return clients.flatMap(({ name, frames }) => {
    let newest = { began: -Infinity };
    return frames.flatMap(({ title }) => {
      const operation = committed.get(title);
      if (operation === undefined) return [];
      const before = newest;
      if (operation.began > newest.began) newest = operation;
      return operation.ended < before.began ? [`${name} was shown ${before.title} before ${title}`] : [];
    });
  });
}

const wants = ({ families }, { family }) => family !== null && families.includes(family);

/** Events that an endpoint subscribed to and never accepted. */
export function lostDeliveries(hooks, receipts, committed) {
  return hooks.flatMap((hook) => {
    const taken = new Set(receipts.filter(({ path, answered }) => path === hook.path && answered).map(({ title }) => title));
    return [...committed.values()].filter((operation) => wants(hook, operation) && !taken.has(operation.title)).map(({ title }) => `${hook.path} never got ${title}`);
  });
}

/** Deliveries of operations that were never committed, or to an endpoint not subscribed to the event type. */
export function inventedDeliveries(hooks, receipts, committed) {
  const byPath = new Map(hooks.map((hook) => [hook.path, hook]));
  return receipts.filter(({ path, title, type }) => {
    const operation = committed.get(title);
    return operation === undefined || operation.family !== type || !wants(byPath.get(path), operation);
  }).map(({ path, title, type }) => `${path} got ${title} as ${type}`);
}

/** Events whose id or content changed between attempts. */
export function changedEvents(receipts) {
  const events = new Map();
  const titles = new Map();
  return receipts.flatMap(({ path, eventId, title, body }) => {
    const same = (events.get(eventId) ?? body) === body && (titles.get(title) ?? eventId) === eventId;
    events.set(eventId, body);
    titles.set(title, eventId);
    return same ? [] : [`${path} got ${title} under another id or with other content`];
  });
}

/** Events delivered again after they were accepted, without a fault in between that could have hidden the acceptance. */
export function repeatedDeliveries(receipts, faults) {
  const taken = new Map();
  return receipts.flatMap(({ path, eventId, title, answered, at }) => {
    const name = `${path} ${eventId}`;
    const since = taken.get(name);
    if (answered) taken.set(name, at);
    const excused = since === undefined || faults.some(({ from, to }) => from <= at && to >= since);
    return excused ? [] : [`${path} got ${title} again after it had accepted it`];
  });
}
