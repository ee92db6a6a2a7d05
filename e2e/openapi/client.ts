// A TypeScript client whose types are generated from the document: it compiles only if they fit, and runs against a stack.

import createClient from 'openapi-fetch';
import type { components, paths } from './generated';

type Vault = components['schemas']['VaultRow'];

export interface Report {
  readonly vaults: number;
  readonly best: Pick<Vault, 'id' | 'total_score' | 'risk_tier'> | undefined;
  readonly rowOfDetail: string;
  readonly verdict: components['schemas']['Verdict'];
  readonly refused: components['schemas']['ErrorCode'];
  readonly missing: string;
  readonly levels: number;
}

/** Sends requests as a customer would, and returns a summary of the responses. */
export async function report(baseUrl: string, key: string, indexToken: string, caller: string): Promise<Report> {
  const headers = { 'cf-connecting-ip': caller };
  // Lists are serialised with commas: in the document, style `form` without `explode`.
  const options = { baseUrl, querySerializer: { array: { style: 'form', explode: false } } } as const;
  const client = createClient<paths>({ ...options, headers });
  const keyed = createClient<paths>({ ...options, headers: { ...headers, authorization: `Bearer ${key}` } });
  const index = createClient<paths>({ ...options, headers: { ...headers, authorization: `Bearer ${indexToken}` } });

  const list = await client.GET('/v1/vaults', { params: { query: { riskTier: ['prime', 'core'], sortBy: 'total_score', limit: 5 } } });
  if (list.data === undefined) throw new Error(list.error.error.message);
  const best = list.data.data[0];
  if (best === undefined) throw new Error('the vault list is empty');

  const detail = await client.GET('/v1/vault/{network}/{address}', { params: { path: { network: 'devnet', address: best.address } } });
  if (detail.data === undefined) throw new Error(detail.error.error.code);
  const caps: number = detail.data.data.vault.score_provenance?.caps.length ?? 0;
  if (caps < 0) throw new Error('the number of caps is negative');

  const check = await keyed.POST('/v1/graph/check', {
    body: { portfolioRef: 'typescript', positions: [{ vaultKey: `${best.chain_id}:${best.address}`, amountUsd: 1000 }], limits: { maxSharePerChain: 1 } },
  });
  if (check.data === undefined) throw new Error(check.error.error.code);

  const refused = await client.GET('/v1/vaults/scores', {});
  if (refused.error === undefined) throw new Error('scores were served without a key');

  const missing = await client.GET('/v1/vaults/{id}', { params: { path: { id: 'nobody-1-0x0000000000000000000000000000000000000001' } } });
  const levels = await index.GET('/v1/indices/{id}/levels', { params: { path: { id: 'prime-vaults' }, query: { days: 7 } } });

  return {
    vaults: list.data.meta.total,
    best: { id: best.id, total_score: best.total_score, risk_tier: best.risk_tier },
    rowOfDetail: detail.data.data.vault.id,
    verdict: check.data.data.verdict,
    refused: refused.error.error.code,
    missing: missing.error?.error.code ?? 'none',
    levels: levels.data?.data.length ?? 0,
  };
}
