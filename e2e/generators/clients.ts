// Uses two generated clients: the program compiles only if both match their use here, and calls the service with each.

import { type VaultRow, vaultList } from './hey';
import { client as shared } from './hey/client.gen';
import { Configuration, ResponseError, VaultListRiskTierEnum, VaultsApi, WebhooksApi } from './typescript-fetch';

export interface CallResult {
  readonly rows: number;
  readonly total: number;
  readonly refused: string;
}

/** By typescript-fetch of openapi-generator. */
export async function fetched(base: string, caller: string): Promise<CallResult> {
  const configuration = new Configuration({ basePath: base, headers: { 'cf-connecting-ip': caller } });
  const api = new VaultsApi(configuration);
  const listed = await api.vaultList({ limit: 2, riskTier: [VaultListRiskTierEnum.Prime] });
  const refused = await api.vaultList({ strict: true, chain: ['mars'] }).then(
    () => 'nothing',
    async (failed: unknown) => (failed instanceof ResponseError ? ((await failed.response.json()).error.code as string) : String(failed)),
  );
  return { rows: listed.data.length, total: listed.meta.total, refused };
}

/** The methods of the client that manage webhooks. */
export const management: readonly string[] = Object.getOwnPropertyNames(WebhooksApi.prototype);

/** By hey-api. */
export async function hey(base: string, caller: string): Promise<CallResult> {
  shared.setConfig({ baseUrl: base, headers: { 'cf-connecting-ip': caller } });
  const listed = await vaultList({ query: { limit: 2, riskTier: ['prime'] } });
  const rows: VaultRow[] = listed.data?.data ?? [];
  const refused = await vaultList({ query: { strict: true, chain: ['mars'] } });
  return { rows: rows.length, total: listed.data?.meta.total ?? 0, refused: refused.error?.error.code ?? 'nothing' };
}
