// Numbers, instants and names as text. Every function gives the same text at the edge and in the browser.

/** Made at the first use: the first format of an isolate loads the tables of all languages, a tenth of the CPU of its start. */
function late(options: Intl.NumberFormatOptions): (n: number) => string {
  let made: Intl.NumberFormat | undefined;
  return (n) => (made ??= new Intl.NumberFormat('en-US', options)).format(n);
}

const compact = late({ notation: 'compact', minimumFractionDigits: 0, maximumFractionDigits: 2 });
const whole = late({ maximumFractionDigits: 2 });

/** `$1.23B`. */
export function usd(amount: number): string {
  const sign = amount < 0 ? '−' : '';
  return `${sign}$${compact(Math.abs(amount))}`;
}

/** `$1,234,567.89`. */
export function exactUsd(amount: number): string {
  const sign = amount < 0 ? '−' : '';
  return `${sign}$${whole(Math.abs(amount))}`;
}

/** `1 vault`, `1,234 vaults`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** `1,234`. */
export function count(n: number): string {
  return whole(n);
}

/** `12.3%` of a fraction such as 0.123. */
export function percent(fraction: number): string {
  const value = fraction * 100;
  const digits = Math.abs(value) < 0.1 && value !== 0 ? 3 : Math.abs(value) < 10 ? 2 : 1;
  return `${value.toFixed(digits).replace('-', '−')}%`;
}

/** `2026-11-26 01:00 UTC`; a day alone stays one. */
export function instant(iso: string): string {
  if (iso.length <= 10) return iso;
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** `5 minutes`, `3 days`: the largest unit, rounded down. */
export function duration(seconds: number): string {
  const units: [number, string][] = [
    [86_400 * 365, 'year'],
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ];
  const rest = Math.max(0, Math.floor(seconds));
  for (const [size, name] of units) {
    if (rest >= size) {
      const n = Math.floor(rest / size);
      return `${n} ${name}${n === 1 ? '' : 's'}`;
    }
  }
  return '0 seconds';
}

/** `3 days ago`, counted from `now`; `in 3 days` for what is to come. */
export function age(iso: string, now: string): string {
  const seconds = (Date.parse(now) - Date.parse(iso)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  if (seconds < -60) return `in ${duration(-seconds)}`;
  return seconds < 60 ? 'now' : `${duration(seconds)} ago`;
}

/** `0x661b…f1ee`. */
export function shortened(address: string): string {
  const signs = [...address];
  return signs.length > 14 ? `${signs.slice(0, 6).join('')}…${signs.slice(-4).join('')}` : address;
}

/** `deposit_status` → `Deposit status`; `PegDeviation` → `Peg deviation`. */
export function words(name: string): string {
  const spaced = name
    .replaceAll('_', ' ')
    .replaceAll('-', ' ')
    .replace(/:(?=\S)/g, ': ')
    .replace(/([a-z])([A-Z])/g, '$1 $2');
  return spaced.charAt(0).toUpperCase() + spaced.slice(1).replace(/ [A-Z](?=[a-z])/g, (text) => text.toLowerCase());
}
