// Repeatable random choices: the same seed gives the same choices, whatever the machine's timing.

/** One sequence of choices. Each concurrent actor has its own sequence, derived from its name. */
export class Dice {
  #state;

  constructor(seed, name = '') {
    this.seed = seed;
    this.#state = seed >>> 0;
    for (const letter of name) this.#state = Math.imul(this.#state ^ letter.codePointAt(0), 0x01000193) >>> 0;
  }

  /** The sequence of the actor `name`. */
  of(name) {
    return new Dice(this.seed, name);
  }

  /** A number in [0, 1), by mulberry32. */
  fraction() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `least` to `most`, inclusive. */
  between(least, most) {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(probability) {
    return this.fraction() < probability;
  }

  pick(list) {
    return list[this.between(0, list.length - 1)];
  }
}
