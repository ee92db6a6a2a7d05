// Two generated clients in one program: it compiles only while both fit, and calls a service with each.

import { type VaultRow, vaultList } from './hey';
import { client as shared } from './hey/client.gen';
import { Configuration, ResponseError, VaultListRiskTierEnum, VaultsApi, WebhooksApi } from './typescript-fetch';

export interface Said {
  readonly rows: number;
  readonly total: number;
  readonly refused: string;
}

/** By typescript-fetch of openapi-generator. */
export async function fetched(base: string, caller: string): Promise<Said> {
  const configuration = new Configuration({ basePath: base, headers: { 'cf-connecting-ip': caller } });
  const api = new VaultsApi(configuration);
  const listed = await api.vaultList({ limit: 2, riskTier: [VaultListRiskTierEnum.Prime] });
  const refused = await api.vaultList({ strict: true, chain: ['mars'] }).then(
    () => 'nothing',
    async (failed: unknown) => (failed instanceof ResponseError ? ((await failed.response.json()).error.code as string) : String(failed)),
  );
  return { rows: listed.data.length, total: listed.meta.total, refused };
}

/** What there is to manage webhooks with. */
export const management: readonly string[] = Object.getOwnPropertyNames(WebhooksApi.prototype);

/** By hey-api. */
export async function hey(base: string, caller: string): Promise<Said> {
  shared.setConfig({ baseUrl: base, headers: { 'cf-connecting-ip': caller } });
  const listed = await vaultList({ query: { limit: 2, riskTier: ['prime'] } });
  const rows: VaultRow[] = listed.data?.data ?? [];
  const refused = await vaultList({ query: { strict: true, chain: ['mars'] } });
  return { rows: rows.length, total: listed.data?.meta.total ?? 0, refused: refused.error?.error.code ?? 'nothing' };
}
