// When a request is sent again, and after how long.

/** Time and chance. Tests replace them. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Waits; rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number from 0 to 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
};

/** The first wait without a `Retry-After`, at most; it doubles with each try. */
const FIRST_MS = 500;
/** The longest wait without a `Retry-After`. */
const LONGEST_MS = 8000;
/** Added to `Retry-After` by chance, so that many clients do not return in the same instant. */
const SPREAD_MS = 250;

/** Milliseconds before try number `tries + 1`. Never earlier than `retryAfter` seconds. */
export function delayOf(tries: number, retryAfter: number | null, clock: Clock): number {
  if (retryAfter !== null) return retryAfter * 1000 + clock.random() * SPREAD_MS;
  return clock.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1));
}

/** `Retry-After` in seconds: a number, or an HTTP date, which is compared with the answer's own `Date`. */
export function retryAfterOf(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d+$/.test(text)) return Number(text);
  const until = Date.parse(text);
  const sent = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? null : Math.max(0, (until - (Number.isNaN(sent) ? now : sent)) / 1000);
}

/** Whether the status says that a later try may succeed. */
export function isTemporary(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504;
}
