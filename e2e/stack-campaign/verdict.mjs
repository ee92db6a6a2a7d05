// The comparison of what was promised with what everybody got. It knows nothing of how the service works.
//
// Every function gives the violations of one promise as sentences; none is what everybody hopes for. An answer is a note of
// `record.mjs`; a restore is `{from, to, kept}`, `kept` naming for each group the newest state that the backup may hold.

import { grouped } from './record.mjs';

/** Codes that a caller may be told while something is broken. */
const DOCUMENTED = { 503: ['SERVICE_UNAVAILABLE'], 504: ['TIMEOUT', 'DEADLINE_EXCEEDED', 'GATEWAY_TIMEOUT'] };

const named = ({ who, door, target, status, cache, broke, began, ended }) => `${who} at ${door}: ${target} (${broke ?? status}${cache ? ` ${cache}` : ''}, ${Math.round(began)} to ${Math.round(ended)})`;
const during = (faults, { began, ended }, wanted = () => true) => faults.some((fault) => wanted(fault) && fault.from <= ended && fault.to >= began);
const shown = (answers) => answers.filter(({ numbers }) => numbers !== undefined);
/** The state that an answer shows, where all of its rows agree. */
const stateOf = ({ numbers: [first] }) => first;

/** Lists of which one row is of another state than the next: all of them change in one commit. */
export function torn(answers) {
  return shown(answers).filter(({ numbers }) => new Set(numbers).size !== 1).map((answer) => `${named(answer)} shows ${answer.numbers.join(', ')}`);
}

/** States that nobody had written when the answer came. */
export function invented(answers, written) {
  return shown(answers).flatMap((answer) =>
    answer.numbers
      .filter((number) => !(written.groups.get(answer.group).began.get(number) <= answer.ended))
      .map((number) => `${named(answer)} shows ${answer.group} ${number}, which nobody had written`),
  );
}

/** Events that nobody had written. */
export function inventedEvents(answers, written) {
  const began = (title) => {
    const [, group, number] = /^(\S+) (\d+)$/.exec(title) ?? [];
    return written.groups.get(group)?.began.get(Number(number));
  };
  return answers.filter(({ titles }) => titles !== undefined).flatMap((answer) =>
    answer.titles.filter((title) => !(began(title) <= answer.ended)).map((title) => `${named(answer)} shows ${title}, which nobody had written`),
  );
}

/** States that went back for whoever reads one page at one door, but by a restore. */
export function wentBack(answers, restores) {
  const pages = grouped(shown(answers), ({ door, target, who }) => `${who} ${door} ${target}`);
  return [...pages.values()].flatMap((page) => {
    let newest;
    return page.flatMap((answer) => {
      // While the past is being put back, either may be shown; after that there is one truth again.
      if (during(restores, answer)) return [];
      const isLater = newest === undefined || restores.some(({ from, to }) => newest.ended < from && answer.began > to);
      const faults = !isLater && stateOf(answer) < stateOf(newest) ? [`${named(answer)} shows ${answer.group} ${stateOf(answer)} after ${stateOf(newest)}`] : [];
      if (isLater || stateOf(answer) >= stateOf(newest)) newest = answer;
      return faults;
    });
  });
}

/** States that a restore undid, shown although all was said to be as the backup has it. */
export function undone(answers, restores) {
  return shown(answers).flatMap((answer) =>
    restores
      .filter(({ to, kept, until }) => answer.began > to && answer.ended < until && stateOf(answer) > kept.get(answer.group))
      .map(({ kept }) => `${named(answer)} shows ${answer.group} ${stateOf(answer)}, and the restore kept ${kept.get(answer.group)}`),
  );
}

/** Tags that name two contents. */
export function ambiguousTags(answers) {
  const contents = new Map();
  return answers.filter(({ status, etag }) => status === 200 && etag).flatMap((answer) => {
    const name = `${answer.target} ${answer.etag}`;
    const first = contents.get(name) ?? contents.set(name, answer).get(name);
    return first.content === answer.content ? [] : [`${named(answer)}: ${answer.etag} names two contents${stateText(first)}${stateText(answer)}`];
  });
}

const stateText = ({ numbers }) => (numbers ? ` [${numbers.join()}]` : '');

/** Statuses that are no answer to the question, and faults of ours that are not told as the interface says. */
export function undocumented(answers) {
  return answers.flatMap((answer) => {
    const { status, kind, code, envelope } = answer;
    if (status === 0) return [];
    if (envelope !== undefined) return [`${named(answer)} ${envelope}`];
    const usual = [200, 304, ...(isMetered(kind) ? [429] : []), ...(kind === 'revoked' ? [401, 429] : [])];
    const allowed = usual.includes(status) || DOCUMENTED[status]?.includes(code);
    return allowed ? [] : [`${named(answer)} ${code ?? ''}`];
  });
}

/** Failures with nothing broken that would explain them: `hit` is what a broken connection needs. */
export function unprovoked(answers, faults) {
  return answers.flatMap((answer) => {
    const excused = answer.status === 0 ? during(faults, answer, ({ hit }) => hit === 'edge') : answer.status < 500 || during(faults, answer);
    return excused ? [] : [`${named(answer)}, and nothing was broken`];
  });
}

/** Errors of ours that a stranger was answered with nothing broken that would explain them. What is no HTTP may get no answer at all. */
export function provoked(answers, faults) {
  return answers.filter((answer) => answer.status >= 500 && !during(faults, answer)).map((answer) => `${named(answer)}, and nothing was broken`);
}

/** Processes that ended although nobody ended them. A Postgres without room for its log ends: no other way is safe. */
export function unexpectedEndings(endings, faults) {
  return endings
    .filter(({ name, at }) => name !== 'postgres' || !during(faults, { began: at, ended: at }, ({ fills }) => fills))
    .map(({ name, how, at }) => `${name} ended by itself (${how}) at ${Math.round(at)}`);
}

/** Whether a limit is tried: alone, or by a crowd. */
const isMetered = (kind) => kind === 'metered' || kind === 'crowded';

/**
 * Requests that were let in beyond a limit, or that were charged to one place twice. Of a crowd some places are told by isolates that do not
 * know of each other's, so that only their number counts.
 */
export function overLimit(answers) {
  const isLetIn = ({ kind, reset, status }) => isMetered(kind) && reset !== undefined && status !== 429;
  const windows = grouped(answers.filter(isLetIn), ({ key, reset }) => `key ${key} until ${reset}`);
  return [...windows].flatMap(([window, admitted]) => {
    const [{ kind, limit }] = admitted;
    const left = admitted.map(({ remaining }) => remaining);
    const faults = admitted.length > limit ? [`${window}: ${admitted.length} were let in where ${limit} may be`] : [];
    return kind === 'metered' && new Set(left).size < left.length ? [...faults, `${window}: two requests had the same place`] : faults;
  });
}

/** Keys that were let in after their revocation had been acknowledged. */
export function admittedRevoked(answers) {
  return answers
    .filter(({ kind, revoked, began, status }) => kind === 'revoked' && revoked !== undefined && began > revoked && (status === 200 || status === 304))
    .map((answer) => `${named(answer)}: key ${answer.key} was let in ${Math.round(answer.began - answer.revoked)} ms after its revocation`);
}

/** Proofs that failed although nothing of what they prove has changed. */
export function unproven(answers) {
  return answers.filter(({ isTrue }) => isTrue === false).map(named);
}

/** A client's frames between two restores: a client that is told that its place is gone begins anew. */
export function lives(client) {
  const all = [[]];
  for (const frame of client.frames) {
    if (frame.gap?.reason === 'cursor_unknown') all.push([]);
    else all.at(-1).push(frame);
  }
  return all.map((frames, place) => ({ ...client, name: `${client.name}, life ${place + 1}`, frames }));
}

/** Clients that held a number which a restore undid, and were not told; or were told without a restore. */
export function untold(clients, restores) {
  return clients.flatMap(({ name, frames }) => {
    const gaps = frames.filter(({ gap }) => gap?.reason === 'cursor_unknown').length;
    return gaps === restores.length ? [] : [`${name} was told ${gaps} times that its place is gone, and there were ${restores.length} restores`];
  });
}

/** Numbers that stand for two operations, whichever pasts of the database gave them and to whomever. */
export function givenTwice(clients) {
  const titles = new Map();
  return clients.flatMap(({ name, frames }) =>
    frames.filter(({ title }) => title !== undefined).flatMap(({ number, title }) => {
      const first = titles.get(number) ?? titles.set(number, title).get(number);
      return first === title ? [] : [`${name} was shown ${title} with the id of ${first}`];
    }),
  );
}

/** Committed states of which the history keeps nothing. `kept` is each group's `Set` of numbers. */
export function lostStates(kept, written) {
  return [...written.groups].flatMap(([group, { told }]) => [...told.keys()].filter((number) => !kept.get(group).has(number)).map((number) => `${group} ${number} is not in the history`));
}
