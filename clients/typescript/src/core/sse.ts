// A parser of server-sent events, as the HTML standard defines them.

/** One event: `event`, `data`, and `id` if this event has one. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Takes pieces of text and gives events. */
export class SseParser {
  #rest = '';
  #event = '';
  #id: string | undefined;
  #data: string[] = [];
  #isFirst = true;
  /** Milliseconds that the server asks to wait before a reconnect. */
  retry: number | undefined;

  /** The events that this piece completes. */
  push(piece: string): SseEvent[] {
    let text = this.#rest + piece;
    if (this.#isFirst && text !== '') {
      this.#isFirst = false;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    const events: SseEvent[] = [];
    let from = 0;
    for (let end = from; end < text.length; end += 1) {
      const char = text[end];
      if (char !== '\n' && char !== '\r') continue;
      // A carriage return at the end may be the first half of a line end.
      if (char === '\r' && end + 1 === text.length) break;
      this.#line(text.slice(from, end), events);
      if (char === '\r' && text[end + 1] === '\n') end += 1;
      from = end + 1;
    }
    this.#rest = text.slice(from);
    return events;
  }

  #line(line: string, events: SseEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id });
      this.#event = '';
      this.#id = undefined;
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
  }
}
