// The record of a campaign: what writers were told, and every answer that anybody got.

import { createHash } from 'node:crypto';

/** What moves with the clock alone, and is no part of what an ETag names. */
const MOVING = new Set(['freshness_seconds', 'days_since_incident']);

/** What was written, as far as those who wrote it know. States of a group are numbered from 1; 0 is what it began with. */
export class Written {
  /** Group to `{began: Map(number → instant), told: Map(number → instant)}`; the instants are of the request and of its 200. */
  groups = new Map();
  /** Title to the operation, in the form that the verdict on streams and webhooks takes. */
  committed = new Map();

  constructor(names) {
    for (const name of names) this.groups.set(name, { began: new Map([[0, 0]]), told: new Map([[0, 0]]) });
  }

  begin(group, number) {
    const { began } = this.groups.get(group);
    if (!began.has(number)) began.set(number, performance.now());
  }

  tell(group, number) {
    const { began, told } = this.groups.get(group);
    if (told.has(number)) return;
    const ended = performance.now();
    told.set(number, ended);
    const title = `${group} ${number}`;
    this.committed.set(title, { title, op: 'published', family: 'event.published', vault: null, began: began.get(number), ended });
  }

  /** The newest state of a group that its writer knows to be committed. */
  newest(group) {
    return Math.max(...this.groups.get(group).told.keys());
  }
}

/** Every answer, in the order in which they came. */
export class Answers {
  /**
   * `{who, door, target, kind, group, began, ended, status, cache, etag, numbers, titles, content, envelope, limit}`. `status` is 0
   * where the connection broke, for the reason `broke`; `numbers` are the states that rows show; `content` is a digest of what does not move with
   * the clock; `envelope` says what is wrong with an error's envelope.
   */
  all = [];

  /** Notes an answer to a request that began at `began`, and gives the note on. */
  note(facts, began, answer) {
    const note = { ...facts, began, ended: performance.now(), ...(answer.status ? read(answer) : { status: 0, ...answer }) };
    this.all.push(note);
    return note;
  }
}

function read({ status, headers, text, json }) {
  const note = { status, cache: headers.get('x-cache'), etag: headers.get('etag'), reset: number(headers.get('x-ratelimit-reset')), remaining: number(headers.get('x-ratelimit-remaining')) };
  if (status >= 400) return { ...note, code: json?.error?.code, envelope: faultOf({ status, headers, json }) };
  if (status === 200) note.content = createHash('sha256').update(JSON.stringify(still(json ?? text))).digest('base64');
  return { ...note, json };
}

const number = (text) => (text === null ? undefined : Number(text));

/** The same without what moves with the clock. */
function still(value) {
  if (Array.isArray(value)) return value.map(still);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !MOVING.has(name)).map(([name, inner]) => [name, still(inner)]));
}

/** What is wrong with an error: nothing, in the envelope that every error has. */
function faultOf({ status, headers, json }) {
  const { error } = json ?? {};
  if (typeof error?.code !== 'string' || !/^[0-9a-f]{32}$/.test(error.request_id ?? '')) return 'has no envelope';
  if (error.request_id !== headers.get('x-request-id')) return 'has another request id in its head';
  if (!/\bno-store\b/.test(headers.get('cache-control') ?? '')) return 'may be kept';
  if ([429, 503, 504].includes(status) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'does not say when to come back';
  return undefined;
}

/** Things by what `name` calls them, in their order. */
export function grouped(things, name) {
  const groups = new Map();
  for (const thing of things) {
    const key = name(thing);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(thing);
  }
  return groups;
}
