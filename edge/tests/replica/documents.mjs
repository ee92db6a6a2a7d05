// The replica's rows and documents, implemented independently of the Rust code.

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Numbers of the families that tests change, and of all. */
export const [VAULTS, CHAINS, FAMILIES] = [0, 5, 13];
const KINDS = { stamp: 1, manifest: 2, delta: 3 };
/** Rows in a segment. Where the origin cuts is its own affair. */
const SEGMENT_ROWS = 64;

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

const long = (number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(number));
  return bytes;
};
const word = (number) => Buffer.from(new Uint32Array([number]).buffer);
/** A length in groups of seven bits, the least significant first; every byte but the last has its highest bit set. */
const length = (bytes) => Buffer.from(bytes < 128 ? [bytes] : [128 | (bytes & 127), ...length(bytes >> 7)]);
/** Bytes preceded by their length. */
const part = (bytes) => Buffer.concat([length(bytes.length), bytes]);
/** An answer with segments: each with its length in four bytes. */
export const segmentsAnswer = (segments) => Buffer.concat(segments.flatMap((bytes) => [word(bytes.length), bytes]));

/** The answer to a holder: nothing new, the deltas from its state on, or a manifest and deltas. */
export function update({ stamp, manifest, deltas }) {
  if (!deltas) return Buffer.concat([part(stamp), Buffer.from([0])]);
  const head = manifest ? [Buffer.from([2]), part(manifest)] : [Buffer.from([1])];
  return Buffer.concat([part(stamp), ...head, long(deltas.length), ...deltas.map(part)]);
}

/** A document with the origin's seal; `key` is `{ id, secret }`. */
export function seal(kind, content, { id, secret }, format = 2) {
  const head = Buffer.from([format & 255, format >> 8, KINDS[kind]]);
  const mac = createHmac("sha256", Buffer.from(secret, "hex")).update("replica-v1\n").update(head).update(content).digest();
  return Buffer.concat([head, Buffer.from([id.length]), Buffer.from(id), mac, content]);
}

/** A row's key; rows are in the order of their keys' bytes. */
const keyOf = (row) => row.toString("latin1", 2, 2 + row.readUInt16LE());
const contentOf = (row) => row.subarray(2 + row.readUInt16LE());

/** Rows of all families: for each one a map from keys to rows. */
export class Rows {
  constructor(families = Array.from({ length: FAMILIES }, () => new Map())) {
    this.families = families;
  }

  /** The rows of a family in their order. */
  of(family) {
    const rows = this.families[family];
    return [...rows.keys()].sort().map((key) => rows.get(key));
  }

  /** These rows with those of one family replaced. */
  with(family, rows) {
    return new Rows(this.families.with(family, new Map(rows.map((row) => [keyOf(row), row]))));
  }

  /** The name of the state: the sum of the rows' digests, as numbers whose lowest byte comes first. */
  name() {
    let sum = 0n;
    for (const [family, rows] of this.families.entries()) {
      for (const row of rows.values()) sum += BigInt(`0x${sha256(Buffer.from([family]), row).reverse().toString("hex")}`);
    }
    return Buffer.from(BigInt.asUintN(256, sum).toString(16).padStart(64, "0"), "hex").reverse();
  }

  /** The segments of each family. */
  segments() {
    return this.families.map((_, family) => {
      const rows = this.of(family);
      const count = Math.ceil(rows.length / SEGMENT_ROWS);
      const cuts = Array.from({ length: count }, (_, at) => rows.slice(at * SEGMENT_ROWS, (at + 1) * SEGMENT_ROWS));
      return cuts.map((cut) => deflateRawSync(Buffer.concat(cut.flatMap((row) => [word(row.length), row]))));
    });
  }
}

export const stamp = ({ name, version, tags, withheld }, millis) =>
  Buffer.concat([name, long(version), part(Buffer.from(tags)), long(withheld.length), ...withheld.map(long), long(millis * 1000)]);

/** A manifest with the segments that it names, by name. */
export function manifest(name, rows) {
  const segments = new Map();
  const families = rows.segments().map((all, family) => {
    const names = all.map((bytes) => sha256(bytes));
    for (const [at, bytes] of all.entries()) segments.set(names[at].toString("hex"), bytes);
    const list = rows.of(family);
    const size = list.reduce((sum, row) => sum + row.length, 0);
    return Buffer.concat([word(names.length), word(list.length), word(size), ...names]);
  });
  return { content: Buffer.concat([name, ...families]), segments };
}

/**
 * What leads from one state to another. A changed row is sent as one edit, from the first to the last byte that differs; streams are
 * those of `shared/src/replica/changes.rs`.
 */
export function delta(from, to) {
  const [heads, keys, names, lengths, rows, counts, keeps, drops, puts, bytes] = Array.from({ length: 10 }, () => []);
  let before = Buffer.alloc(0);
  const change = (what, family, text) => {
    const key = Buffer.from(text, "latin1");
    const shared = alike(before, key);
    heads.push(Buffer.from([what, family]));
    keys.push(length(shared), length(key.length - shared));
    names.push(key.subarray(shared));
    before = key;
  };
  for (const [family, all] of to.rows.families.entries()) {
    const earlier = from.rows.families[family];
    for (const key of earlier.keys()) if (!all.has(key)) change(2, family, key);
    for (const [key, row] of all) {
      if (!earlier.has(key)) {
        change(0, family, key);
        lengths.push(length(contentOf(row).length));
        rows.push(contentOf(row));
      } else if (!earlier.get(key).equals(row)) {
        change(1, family, key);
        const [old, now] = [contentOf(earlier.get(key)), contentOf(row)];
        const start = alike(old, now);
        const [oldRest, rest] = [old.subarray(start), now.subarray(start)];
        const end = alike(Buffer.from(oldRest).reverse(), Buffer.from(rest).reverse());
        counts.push(length(1));
        keeps.push(length(start));
        drops.push(length(oldRest.length - end));
        puts.push(length(rest.length - end));
        bytes.push(rest.subarray(0, rest.length - end));
      }
    }
  }
  const streams = [heads, keys, names, lengths, rows, counts, keeps, drops, puts, bytes];
  return Buffer.concat([from.name, to.name, deflateRawSync(Buffer.concat(streams.map((stream) => part(Buffer.concat(stream)))))]);
}

/** Number of bytes at the start that are the same in both. */
function alike(one, other) {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count += 1;
  return count;
}

/** The rows of the market in `fixtures/replica`. */
export function market() {
  const text = readFileSync(new URL("../../../fixtures/replica/states.jsonl", import.meta.url), "utf8");
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  const segments = new Map(lines.filter(({ segment }) => segment).map(({ segment, bytes }) => [segment, Buffer.from(bytes, "hex")]));
  const sealed = Buffer.from(lines.find(({ version }) => version === 1).manifest, "hex");
  // The seal is the format, the kind, the key's id and the MAC; the manifest begins with the state's name.
  let at = 4 + sealed[3] + 32 + 32;
  let rows = new Rows();
  for (let family = 0; family < FAMILIES; family += 1) {
    // The numbers of segments, rows and bytes, then the names.
    const name = (_, place) => sealed.toString("hex", at + 12 + 32 * place, at + 44 + 32 * place);
    const names = Array.from({ length: sealed.readUInt32LE(at) }, name);
    at += 12 + 32 * names.length;
    rows = rows.with(family, names.flatMap((name) => unpacked(segments.get(name))));
  }
  return rows;
}

function unpacked(segment) {
  const raw = inflateRawSync(segment);
  const rows = [];
  for (let at = 0; at < raw.length; at += 4 + rows.at(-1).length) rows.push(raw.subarray(at + 4, at + 4 + raw.readUInt32LE(at)));
  return rows;
}

/** The market with `count` vaults: more of them are copies at other addresses. */
export function grown(rows, count) {
  const vaults = rows.of(VAULTS);
  const copies = Array.from({ length: count - vaults.length }, (_, number) => {
    const address = (vaults.length + number).toString(16).padStart(40, "0");
    return Buffer.from(vaults[number % vaults.length].toString("latin1").replace(/0x[0-9a-f]{40}/g, `0x${address}`), "latin1");
  });
  return rows.with(VAULTS, [...vaults, ...copies]);
}

/** The rows after a score run over every vault, whose scores say its number: run 7 gives 0.07. */
export const scored = (rows, run) =>
  rows.with(VAULTS, rows.of(VAULTS).map((row) => {
    const text = row.toString("latin1").replace(/"total_score":(null|\d\.\d\d)/g, `"total_score":${(run / 100).toFixed(2)}`);
    const changed = Buffer.from(text, "latin1");
    // The number that names a row's content for ETags precedes the slot and the length, which take two bytes each.
    const start = changed.indexOf('{"id":');
    const listed = changed.subarray(start, start + (changed[start - 2] & 127) + (changed[start - 1] << 7));
    sha256(listed).copy(changed, start - 12, 0, 8);
    // The row of the bulk scores follows: the number, the slot, and its edits of the row of the list.
    const at = start + listed.length;
    sha256(edited(listed, changed, at + 10)).copy(changed, at, 0, 8);
    return changed;
  }));

/** What the edits at `at` make of `text`: their length, and for each how many bytes stay, how many are gone, and what replaces them. */
function edited(text, bytes, at) {
  const number = () => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = bytes[at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7;
    }
  };
  const length = number();
  const [parts, end] = [[], at + length];
  let taken = 0;
  while (at < end) {
    const [keep, drop, put] = [number(), number(), number()];
    parts.push(text.subarray(taken, taken + keep), bytes.subarray(at, at + put));
    taken += keep + drop;
    at += put;
  }
  return Buffer.concat([...parts, text.subarray(taken)]);
}

/** The rows without those of a chain, whose number the content begins with. */
export const without = (rows, chain) =>
  [VAULTS, CHAINS].reduce((left, family) => left.with(family, left.of(family).filter((row) => contentOf(row)[0] !== chain)), rows);
