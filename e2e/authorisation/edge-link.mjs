// Edge assertions made with the edge's secret: valid ones, and every kind of invalid one.

import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Principals of the edge and of the origin themselves. */
export const EDGE = '{"kind":"edge"}';
export const ORIGIN = '{"kind":"origin"}';
/** Longest accepted difference between signature and use, in seconds. */
const MAX_SKEW = 30;

const now = () => Math.floor(Date.now() / 1000);
const hex = (bytes) => bytes.toString('hex');

/** Signs with `key` (`<id>:<64 hex>`): the two headers for a request of `principal`, a JSON text. */
export function signed(key, { method = 'GET', target, body = '' }, principal, seconds = now()) {
  const [id, secret] = key.split(':');
  const nonce = hex(randomBytes(16));
  const text = `v1\n${method}\n${target}\n${seconds}\n${nonce}\n${hex(createHash('sha256').update(body).digest())}\n${principal}`;
  const signature = createHmac('sha256', Buffer.from(secret, 'hex')).update(text).digest('hex');
  return { 'x-service-assertion': `v1;${id};${seconds};${nonce};${signature}`, 'x-service-principal': principal };
}

/** Headers that must be refused, by what is wrong with them. */
export function forgeries(key, request, principal, credential) {
  const [id] = key.split(':');
  const good = () => signed(key, request, principal);
  const other = (changed) => signed(key, { ...request, ...changed }, principal);
  return {
    unsigned: {},
    'with a live key instead': credential,
    'without a caller': { 'x-service-assertion': good()['x-service-assertion'] },
    'without a signature': { 'x-service-principal': principal },
    'signed by a key of the same name': signed(`${id}:${hex(randomBytes(32))}`, request, principal),
    'signed by an unknown key': signed(`k0:${key.split(':')[1]}`, request, principal),
    'signed too long ago': signed(key, request, principal, now() - MAX_SKEW - 2),
    'signed ahead of time': signed(key, request, principal, now() + MAX_SKEW + 5),
    'signed for another caller': { ...signed(key, request, '{"kind":"anonymous"}'), 'x-service-principal': principal },
    'signed for another method': other({ method: request.method === 'GET' ? 'POST' : 'GET' }),
    'signed for another target': other({ target: `${request.target}x` }),
    'signed for another body': other({ body: `${request.body ?? ''} ` }),
    'signed as the origin': signed(key, request, ORIGIN),
    'signed as a kind that there is not': signed(key, request, '{"kind":"operator"}'),
    'signed with more than a caller is': signed(key, request, `${principal.slice(0, -1)},"admin":true}`),
  };
}
