// The API key of this browser. It is kept in local storage and sent to this service only; the edge's rendering never sees it.

const NAME = 'rds-key';

/** The key, if there is one. */
export function keyOf(): string | null {
  try {
    return localStorage.getItem(NAME) || null;
  } catch {
    return null;
  }
}

/** Keeps a key; an empty one removes it. */
export function setKey(key: string): void {
  try {
    if (key) localStorage.setItem(NAME, key);
    else localStorage.removeItem(NAME);
  } catch {
    // Without storage, no key can be kept.
  }
}
