// Compares the guarantees with the responses that the callers got, without knowledge of the implementation.
//
// Every function returns the violations of one guarantee, one sentence each. An answer is a record of `record.mjs`; a restore is
// `{from, to, until, kept}`, where `kept` gives for each group the newest state that the restored database has.

import { grouped } from './record.mjs';

/** Error codes that a caller may get during a fault, by status. */
const FAULT_CODES = { 503: ['SERVICE_UNAVAILABLE'], 504: ['TIMEOUT', 'DEADLINE_EXCEEDED', 'GATEWAY_TIMEOUT'] };

const named = ({ who, edgeIndex, target, status, cache, broke, began, ended }) => `${who} at ${edgeIndex}: ${target} (${broke ?? status}${cache ? ` ${cache}` : ''}, ${Math.round(began)} to ${Math.round(ended)})`;
const during = (faults, { began, ended }, wanted = () => true) => faults.some((fault) => wanted(fault) && fault.from <= ended && fault.to >= began);
const shown = (answers) => answers.filter(({ numbers }) => numbers !== undefined);
/** The state that an answer shows; all of its rows agree. */
const stateOf = ({ numbers: [first] }) => first;

/** Lists whose rows show different states, although one commit changes all of them. */
export function torn(answers) {
  return shown(answers).filter(({ numbers }) => new Set(numbers).size !== 1).map((answer) => `${named(answer)} shows ${answer.numbers.join(', ')}`);
}

/** States that had not been written when the answer came. */
export function invented(answers, written) {
  return shown(answers).flatMap((answer) =>
    answer.numbers
      .filter((number) => !(written.groups.get(answer.group).began.get(number) <= answer.ended))
      .map((number) => `${named(answer)} shows ${answer.group} ${number}, which had not been written`),
  );
}

/** Events that had not been written. */
export function inventedEvents(answers, written) {
  const began = (title) => {
    const [, group, number] = /^(\S+) (\d+)$/.exec(title) ?? [];
    return written.groups.get(group)?.began.get(Number(number));
  };
  return answers.filter(({ titles }) => titles !== undefined).flatMap((answer) =>
    answer.titles.filter((title) => !(began(title) <= answer.ended)).map((title) => `${named(answer)} shows ${title}, which had not been written`),
  );
}

/** States older than one that the same reader saw before on the same page at the same edge, with no restore in between. */
export function wentBack(answers, restores) {
  const pages = grouped(shown(answers), ({ edgeIndex, target, who }) => `${who} ${edgeIndex} ${target}`);
  return [...pages.values()].flatMap((page) => {
    let newest;
    return page.flatMap((answer) => {
      // During a restore, both the old and the restored state may be shown.
      if (during(restores, answer)) return [];
      const isLater = newest === undefined || restores.some(({ from, to }) => newest.ended < from && answer.began > to);
      const faults = !isLater && stateOf(answer) < stateOf(newest) ? [`${named(answer)} shows ${answer.group} ${stateOf(answer)} after ${stateOf(newest)}`] : [];
      if (isLater || stateOf(answer) >= stateOf(newest)) newest = answer;
      return faults;
    });
  });
}

/** States that a restore undid, shown after the restore was complete and before they were written again. */
export function undone(answers, restores) {
  return shown(answers).flatMap((answer) =>
    restores
      .filter(({ to, kept, until }) => answer.began > to && answer.ended < until && stateOf(answer) > kept.get(answer.group))
      .map(({ kept }) => `${named(answer)} shows ${answer.group} ${stateOf(answer)}, and the restore kept ${kept.get(answer.group)}`),
  );
}

/** ETags of two different contents. */
export function ambiguousTags(answers) {
  const contents = new Map();
  return answers.filter(({ status, etag }) => status === 200 && etag).flatMap((answer) => {
    const key = `${answer.target} ${answer.etag}`;
    const first = contents.get(key) ?? contents.set(key, answer).get(key);
    return first.content === answer.content ? [] : [`${named(answer)}: ${answer.etag} names two contents${stateText(first)}${stateText(answer)}`];
  });
}

const stateText = ({ numbers }) => (numbers ? ` [${numbers.join()}]` : '');

/** Unexpected statuses, and errors that are not reported as the interface specifies. */
export function undocumented(answers) {
  return answers.flatMap((answer) => {
    const { status, kind, code, envelope } = answer;
    if (status === 0) return [];
    if (envelope !== undefined) return [`${named(answer)} ${envelope}`];
    const expected = [200, 304, ...(isMetered(kind) ? [429] : []), ...(kind === 'revoked' ? [401, 429] : [])];
    const allowed = expected.includes(status) || FAULT_CODES[status]?.includes(code);
    return allowed ? [] : [`${named(answer)} ${code ?? ''}`];
  });
}

/** Failures without a fault that explains them; only a fault with `hit: 'edge'` explains a broken connection. */
export function unprovoked(answers, faults) {
  return answers.flatMap((answer) => {
    const isExplained = answer.status === 0 ? during(faults, answer, ({ hit }) => hit === 'edge') : answer.status < 500 || during(faults, answer);
    return isExplained ? [] : [`${named(answer)}, without a fault`];
  });
}

/** Server errors in answers to hostile requests, without a fault that explains them. Invalid HTTP may get no response. */
export function provoked(answers, faults) {
  return answers.filter((answer) => answer.status >= 500 && !during(faults, answer)).map((answer) => `${named(answer)}, without a fault`);
}

/** Unexpected process ends. Postgres may end while its disk is full, because it cannot continue without writing its log. */
export function unexpectedEndings(endings, faults) {
  return endings
    .filter(({ name, at }) => name !== 'postgres' || !during(faults, { began: at, ended: at }, ({ fills }) => fills))
    .map(({ name, how, at }) => `${name} ended by itself (${how}) at ${Math.round(at)}`);
}

/** Whether the request used a key whose limit must never be exceeded: the key with an exact limit, or the crowd's key. */
const isMetered = (kind) => kind === 'metered' || kind === 'crowded';

/**
 * Windows with more admitted requests than the limit, or with two requests with the same remaining count. For `Crowd` callers only the
 * number is checked: isolates count reserved requests independently, so two requests may get the same remaining count.
 */
export function overLimit(answers) {
  const isLetIn = ({ kind, reset, status }) => isMetered(kind) && reset !== undefined && status !== 429;
  const windows = grouped(answers.filter(isLetIn), ({ key, reset }) => `key ${key} until ${reset}`);
  return [...windows].flatMap(([window, admitted]) => {
    const [{ kind, limit }] = admitted;
    const remainders = admitted.map(({ remaining }) => remaining);
    const faults = admitted.length > limit ? [`${window}: ${admitted.length} requests were admitted, and the limit is ${limit}`] : [];
    return kind === 'metered' && new Set(remainders).size < remainders.length ? [...faults, `${window}: two requests had the same remaining count`] : faults;
  });
}

/** Keys that were accepted after their revocation had been acknowledged. */
export function admittedRevoked(answers) {
  return answers
    .filter(({ kind, revoked, began, status }) => kind === 'revoked' && revoked !== undefined && began > revoked && (status === 200 || status === 304))
    .map((answer) => `${named(answer)}: key ${answer.key} was accepted ${Math.round(answer.began - answer.revoked)} ms after its revocation`);
}

/** Verifications of the decision that failed although the decision has not changed. */
export function unproven(answers) {
  return answers.filter(({ isTrue }) => isTrue === false).map(named);
}

/** A client's frames split at each gap with reason `cursor_unknown`, after which the client starts anew. */
export function lives(client) {
  const all = [[]];
  for (const frame of client.frames) {
    if (frame.gap?.reason === 'cursor_unknown') all.push([]);
    else all.at(-1).push(frame);
  }
  return all.map((frames, place) => ({ ...client, name: `${client.name}, life ${place + 1}`, frames }));
}

/** Clients that did not get exactly one gap with reason `cursor_unknown` per restore. */
export function untold(clients, restores) {
  return clients.flatMap(({ name, frames }) => {
    const gaps = frames.filter(({ gap }) => gap?.reason === 'cursor_unknown').length;
    return gaps === restores.length ? [] : [`${name} got ${gaps} gaps with reason cursor_unknown, and there were ${restores.length} restores`];
  });
}

/** Sequence numbers given to two different operations, across all clients and all restores of the database. */
export function givenTwice(clients) {
  const titles = new Map();
  return clients.flatMap(({ name, frames }) =>
    frames.filter(({ title }) => title !== undefined).flatMap(({ number, title }) => {
      const first = titles.get(number) ?? titles.set(number, title).get(number);
      return first === title ? [] : [`${name} got ${title} with the sequence number of ${first}`];
    }),
  );
}

/** Acknowledged states that are missing from the history. `kept` gives, for each group, the `Set` of the state numbers in the history. */
export function lostStates(kept, written) {
  return [...written.groups].flatMap(([group, { told }]) => [...told.keys()].filter((number) => !kept.get(group).has(number)).map((number) => `${group} ${number} is not in the history`));
}
