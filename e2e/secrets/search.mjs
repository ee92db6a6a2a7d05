// Looks for secrets in bytes: each by either half, in every spelling that a program might have given it.

/** Shorter pieces than this would be found by chance. */
const SHORTEST = 8;
const PAGE = 1 << 24;

/** What a secret is: its text, and the bytes that the text spells where it spells some. */
function values(text) {
  const key = text.replace(/^whsec_|^[\w-]{1,32}:(?=[0-9a-f]{64}$)/, '');
  const all = [Buffer.from(text, 'utf8')];
  if (/^([0-9a-f]{2}){16,}$/.test(key)) all.push(Buffer.from(key, 'hex'));
  if (text.startsWith('whsec_')) all.push(Buffer.from(key, 'base64'));
  return all;
}

/** Base64 wherever a value may begin in what is encoded: only digits that hang on nothing but the value. */
function base64(value, alphabet) {
  return [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), value]).toString(alphabet).replaceAll('=', '');
    return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6));
  });
}

const SPELLINGS = {
  plain: (value) => [value],
  'upper case': (value) => [value.toString('latin1').toUpperCase()],
  hexadecimal: (value) => [value.toString('hex'), value.toString('hex').toUpperCase()],
  Base64: (value) => [...base64(value, 'base64'), ...base64(value, 'base64url')],
  'percent-encoded': (value) => [Array.from(value, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')],
  'as an address has it': (value) => [encodeURIComponent(value.toString('latin1'))].filter((text) => text.includes('%')),
  'a list of numbers': (value) => [Array.from(value).join(','), Array.from(value).join(', ')],
};

/** The two halves of a spelling: who prints no more than one of them still gives too much away. */
function halves(spelled) {
  const bytes = Buffer.isBuffer(spelled) ? spelled : Buffer.from(spelled, 'latin1');
  const middle = Math.ceil(bytes.length / 2);
  return [bytes.subarray(0, middle), bytes.subarray(middle)].filter((half) => half.length >= SHORTEST);
}

/** Many needles at once: most places are passed over by a look at three bytes. */
export class Search {
  #first = new Uint8Array(PAGE);
  #needles = new Map();
  #names = new Map();

  /** @param {Map<string, string>} secrets the texts by what they are called */
  constructor(secrets) {
    for (const [name, text] of secrets) this.add(name, text);
  }

  add(name, text) {
    this.#names.set(name, text);
    for (const value of values(text)) {
      for (const [spelling, spell] of Object.entries(SPELLINGS)) {
        for (const needle of spell(value).flatMap(halves)) this.#needle(needle, { name, spelling });
      }
    }
  }

  #needle(bytes, of) {
    const head = bytes.readUIntBE(0, 3);
    this.#first[head] = 1;
    if (!this.#needles.has(head)) this.#needles.set(head, []);
    this.#needles.get(head).push({ bytes, of });
  }

  /** How many secrets are looked for. */
  get size() {
    return this.#names.size;
  }

  /** What is found, a line each: the secret, its spelling, and the place. */
  in(bytes, place) {
    const found = new Set();
    let head = bytes.length > 1 ? (bytes[0] << 8) | bytes[1] : 0;
    for (let at = 2; at < bytes.length; at += 1) {
      head = ((head << 8) | bytes[at]) & (PAGE - 1);
      if (this.#first[head] === 0) continue;
      for (const { bytes: needle, of } of this.#needles.get(head)) {
        if (bytes.compare(needle, 0, needle.length, at - 2, Math.min(bytes.length, at - 2 + needle.length)) === 0) found.add(`${of.name} (${of.spelling}) in ${place}`);
      }
    }
    return [...found];
  }
}
