// Every kind of caller: valid and invalid credentials of two organisations.

import { randomBytes } from 'node:crypto';
import { bearer, mint, organisation, revoke, verb } from '../operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN } from '../stack.mjs';

/** Limit per minute, high enough that no caller of these tests is rate limited. */
const rpm = 1_000_000;

/** A well-formed credential that was never issued. */
const unissued = (prefix) => bearer(`${prefix}${randomBytes(16).toString('hex')}`);

/**
 * The callers by name, each `{kind, plan, org, headers}` as `verdict` takes them, and the two organisations.
 *
 * The revoked credentials, and the key whose plan was lowered, were accepted before the change.
 */
export async function callers(stack) {
  const [owner, other] = [organisation(), organisation()];
  const key = async (plan, org, more) => ({ kind: 'key', plan, ...(await mint(stack, { org, plan, rpm, ...more })) });
  const token = () => verb(stack, 'index-tokens', 'mint', '--org', owner);

  const [revoked, lowered, live, ended] = [
    await key('embedded', owner), await key('embedded', organisation()), await token(), await token(),
  ];
  for (const { headers } of [revoked, lowered]) await stack.ok('/v1/graph/breach', { headers });
  await stack.ok('/v1/indices', { headers: bearer(ended.token) });
  await revoke(stack, revoked);
  await verb(stack, 'keys', 'align', '--org', lowered.org, '--plan', 'data');
  await verb(stack, 'index-tokens', 'revoke', String(ended.id));

  const decisioning = await key('decisioning', owner);
  const claims = { 'x-service-principal': `{"kind":"key","id":${decisioning.id},"org_id":1,"plan":"embedded"}`, 'x-service-assertion': 'v1;k1;0;0;0' };
  const stranger = (headers) => ({ kind: 'stranger', headers });
  const named = {
    nobody: { kind: 'keyless', headers: {} },
    'a page of ours': { kind: 'keyless', headers: { origin: ALLOWED_ORIGIN } },
    "a stranger's page": { kind: 'keyless', headers: { origin: OTHER_ORIGIN } },
    'one who claims to be the edge': { kind: 'keyless', headers: claims },
    'a key that nobody has': stranger(unissued('pk_live_')),
    'a token that nobody has': stranger(unissued('ix_live_')),
    'a malformed key': stranger(bearer('pk_live_0')),
    'a scheme of its own': stranger({ authorization: `Basic ${Buffer.from(`u:${decisioning.key}`).toString('base64')}` }),
    "the operators' token": stranger(bearer(stack.admin_token)),
    'a page of ours with a bad key': stranger({ origin: ALLOWED_ORIGIN, ...unissued('pk_live_') }),
    'a revoked key': stranger(revoked.headers),
    'a revoked index token': stranger(bearer(ended.token)),
    'an index token': { kind: 'token', id: live.id, headers: bearer(live.token) },
    'a data key': await key('data', owner),
    'a shared data key': await key('data', owner, { shared: true }),
    'a key whose plan was lowered': { ...lowered, plan: 'data' },
    'a decisioning key': decisioning,
    'a shared decisioning key': await key('decisioning', owner, { shared: true }),
    'an embedded key': await key('embedded', owner),
    'a decisioning key on a page of ours': { ...decisioning, headers: { origin: ALLOWED_ORIGIN, ...decisioning.headers } },
    "another organisation's decisioning key": await key('decisioning', other),
    "another organisation's embedded key": await key('embedded', other),
  };
  return { owner, other, decisioning, named };
}
