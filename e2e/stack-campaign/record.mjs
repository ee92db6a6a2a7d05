// The record of a campaign: the acknowledged writes, and every response that a caller got.

import { createHash } from 'node:crypto';

/** Fields that change with the clock alone; an ETag does not cover them. */
const CLOCK_FIELDS = new Set(['freshness_seconds', 'days_since_incident']);

/** The states that writers sent. States of a group are numbered from 1; 0 is the initial state. */
export class Written {
  /**
   * Group to `{began, told, acknowledged, wanted}`. The first three are maps from a state's number to an instant: of the first request, of its
   * 200, and of the first look at the database that found that the edge had acknowledged it. `wanted` has the tag versions that the edge must
   * acknowledge for it.
   */
  groups = new Map();
  /** Event title to operation, in the form that the verdict on streams and webhooks needs. */
  committed = new Map();

  constructor(names) {
    for (const name of names) {
      this.groups.set(name, { began: new Map([[0, 0]]), told: new Map([[0, 0]]), acknowledged: new Map([[0, 0]]), wanted: new Map() });
    }
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

  /**
   * Notes which states the edge has acknowledged, by a look at the database that began at `began`. `tags` are `{tag, version, known}`: the
   * committed version of each tag, and the version that the edge has acknowledged.
   */
  look(began, tags) {
    for (const { told, acknowledged, wanted } of this.groups.values()) {
      for (const [number, at] of told) {
        if (acknowledged.has(number) || at > began) continue;
        if (!wanted.has(number)) wanted.set(number, new Map(tags.map(({ tag, version }) => [tag, BigInt(version)])));
        const versions = wanted.get(number);
        if (tags.every(({ tag, known }) => BigInt(known) >= (versions.get(tag) ?? 0n))) acknowledged.set(number, performance.now());
      }
    }
  }

  /** The newest acknowledged state of a group. */
  newest(group) {
    return Math.max(...this.groups.get(group).told.keys());
  }
}

/** All responses, in the order of their arrival. */
export class Answers {
  /**
   * `{who, edgeIndex, target, kind, group, began, ended, status, cache, etag, numbers, titles, content, envelope, limit}`. `status` is 0
   * if the connection broke, with the reason `broke`; `numbers` are the states that the rows show; `content` is a digest without the fields
   * that change with the clock; `envelope` is the deviation of an error from the error envelope.
   */
  all = [];

  /** Records the response to a request that began at `began`; returns the record. */
  note(facts, began, answer) {
    const note = { ...facts, began, ended: performance.now(), ...(answer.status ? read(answer) : { status: 0, ...answer }) };
    this.all.push(note);
    return note;
  }
}

function read({ status, headers, text, json }) {
  const note = { status, cache: headers.get('x-cache'), etag: headers.get('etag'), reset: number(headers.get('x-ratelimit-reset')), remaining: number(headers.get('x-ratelimit-remaining')) };
  if (status >= 400) return { ...note, code: json?.error?.code, envelope: faultOf({ status, headers, json }) };
  if (status === 200) note.content = createHash('sha256').update(JSON.stringify(withoutClock(json ?? text))).digest('base64');
  return { ...note, json };
}

const number = (text) => (text === null ? undefined : Number(text));

/** The value without the fields that change with the clock. */
function withoutClock(value) {
  if (Array.isArray(value)) return value.map(withoutClock);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !CLOCK_FIELDS.has(name)).map(([name, inner]) => [name, withoutClock(inner)]));
}

/** The deviation of an error from the error envelope; undefined if there is none. */
function faultOf({ status, headers, json }) {
  const { error } = json ?? {};
  if (typeof error?.code !== 'string' || !/^[0-9a-f]{32}$/.test(error.request_id ?? '')) return 'has no error envelope';
  if (error.request_id !== headers.get('x-request-id')) return 'has different request ids in header and body';
  if (!/\bno-store\b/.test(headers.get('cache-control') ?? '')) return 'may be cached';
  if ([429, 503, 504].includes(status) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) return 'has no valid Retry-After';
  return undefined;
}

/** The elements grouped by `keyOf`, in their order. */
export function grouped(elements, keyOf) {
  const groups = new Map();
  for (const element of elements) {
    const key = keyOf(element);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(element);
  }
  return groups;
}
