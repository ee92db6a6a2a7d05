// The comparison: up to five vaults that this browser remembers. The address of the page has them too, so that it can be shared.

/** Most vaults of a comparison. */
export const MOST = 5;
const NAME = 'rds-comparison';

/** The vaults that this browser remembers. */
export function remembered(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(NAME) ?? '[]');
    return Array.isArray(stored) ? stored.filter((id): id is string => typeof id === 'string').slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Remembers these vaults. */
export function remember(ids: readonly string[]): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(ids.slice(0, MOST)));
  } catch {
    // Without storage, only the address has them.
  }
}

/** Whether a vault is in the comparison. */
export function inComparison(id: string): boolean {
  return remembered().includes(id);
}

/** Puts a vault in, or takes it out; the oldest one leaves if there is no room. Returns whether it is in now. */
export function toggle(id: string): boolean {
  const ids = remembered();
  const has = ids.includes(id);
  remember(has ? ids.filter((one) => one !== id) : [...ids, id].slice(-MOST));
  return !has;
}
