// Verifies that a webhook delivery came from the service, and recently.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether `body` (the raw bytes) was signed with `secret`, no more than five minutes from now. */
export function isGenuine(header, body, secret, now = Date.now() / 1000) {
  const parts = header.split(',').map((part) => part.split('='));
  const [, time] = parts.find(([name]) => name === 't') ?? [];
  if (!time || !(Math.abs(now - Number(time)) <= 300)) return false;
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  return parts.some(([name, hex]) => {
    const given = Buffer.from(hex ?? '', 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
