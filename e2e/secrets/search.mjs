// Searches bytes for secrets: each by either half, in every encoding that a program may have used.

/** Minimum length of a needle in bytes; shorter needles would be found by chance. */
const MIN_NEEDLE_BYTES = 8;
/** The number of values of three bytes. */
const PREFIXES = 1 << 24;

/** The byte values of a secret: its text, and the bytes that the text encodes as hexadecimal or Base64. */
function values(text) {
  const key = text.replace(/^whsec_|^[\w-]{1,32}:(?=[0-9a-f]{64}$)/, '');
  const all = [Buffer.from(text, 'utf8')];
  if (/^([0-9a-f]{2}){16,}$/.test(key)) all.push(Buffer.from(key, 'hex'));
  if (text.startsWith('whsec_')) all.push(Buffer.from(key, 'base64'));
  return all;
}

/** Base64 at each of the three offsets in a group, without the digits that also depend on neighbouring bytes. */
function base64(value, alphabet) {
  return [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), value]).toString(alphabet).replaceAll('=', '');
    return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6));
  });
}

const ENCODINGS = {
  plain: (value) => [value],
  'upper case': (value) => [value.toString('latin1').toUpperCase()],
  hexadecimal: (value) => [value.toString('hex'), value.toString('hex').toUpperCase()],
  Base64: (value) => [...base64(value, 'base64'), ...base64(value, 'base64url')],
  'percent-encoded': (value) => [Array.from(value, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')],
  'as a URI component': (value) => [encodeURIComponent(value.toString('latin1'))].filter((text) => text.includes('%')),
  'a list of numbers': (value) => [Array.from(value).join(','), Array.from(value).join(', ')],
};

/** The two halves of an encoded value: printing either one would reveal too much. */
function halves(encoded) {
  const bytes = Buffer.isBuffer(encoded) ? encoded : Buffer.from(encoded, 'latin1');
  const middle = Math.ceil(bytes.length / 2);
  return [bytes.subarray(0, middle), bytes.subarray(middle)].filter((half) => half.length >= MIN_NEEDLE_BYTES);
}

/** Searches for many needles at once; a table of their first three bytes rules out most positions. */
export class Search {
  #prefixes = new Uint8Array(PREFIXES);
  #needles = new Map();
  #names = new Map();

  /** @param {Map<string, string>} secrets the texts by name */
  constructor(secrets) {
    for (const [name, text] of secrets) this.add(name, text);
  }

  add(name, text) {
    this.#names.set(name, text);
    for (const value of values(text)) {
      for (const [encoding, encode] of Object.entries(ENCODINGS)) {
        for (const needle of encode(value).flatMap(halves)) this.#needle(needle, { name, encoding });
      }
    }
  }

  #needle(bytes, of) {
    const head = bytes.readUIntBE(0, 3);
    this.#prefixes[head] = 1;
    if (!this.#needles.has(head)) this.#needles.set(head, []);
    this.#needles.get(head).push({ bytes, of });
  }

  /** The number of secrets. */
  get size() {
    return this.#names.size;
  }

  /** The findings, one line each: the secret, its encoding, and the place. */
  in(bytes, place) {
    const found = new Set();
    let head = bytes.length > 1 ? (bytes[0] << 8) | bytes[1] : 0;
    for (let at = 2; at < bytes.length; at += 1) {
      head = ((head << 8) | bytes[at]) & (PREFIXES - 1);
      if (this.#prefixes[head] === 0) continue;
      for (const { bytes: needle, of } of this.#needles.get(head)) {
        if (bytes.compare(needle, 0, needle.length, at - 2, Math.min(bytes.length, at - 2 + needle.length)) === 0) found.add(`${of.name} (${of.encoding}) in ${place}`);
      }
    }
    return [...found];
  }
}
