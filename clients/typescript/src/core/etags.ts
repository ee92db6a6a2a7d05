// A small cache of answers with their ETags: the service answers 304 while they are current.

/** An answer and its tag. */
export interface Kept {
  readonly tag: string;
  readonly text: string;
}

/** The answers that were used last, bounded in number and in size. */
export class EtagCache {
  readonly #kept = new Map<string, Kept>();
  readonly #entries: number;
  readonly #characters: number;
  #size = 0;

  constructor(entries: number, characters = 8_000_000) {
    this.#entries = entries;
    this.#characters = characters;
  }

  /** The answer that is kept for a request. */
  get(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
    }
    return kept;
  }

  /** Keeps an answer, and drops those that were not used for longest. */
  set(key: string, kept: Kept): void {
    this.#drop(key);
    if (this.#entries === 0 || kept.text.length > this.#characters / 4) return;
    this.#kept.set(key, kept);
    this.#size += kept.text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#entries && this.#size <= this.#characters) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.text.length ?? 0;
    this.#kept.delete(key);
  }
}
