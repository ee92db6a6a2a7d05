// The addresses of pages, and of the descriptions of the API's operations.

import references from 'rds:references';

const part = encodeURIComponent;

export const vaultPath = (id: string): string => `/vaults/${part(id)}`;
export const exposurePath = (id: string): string => `/vaults/${part(id)}/exposure`;
export const assetPath = (chainId: number, address: string): string => `/assets/${chainId}/${part(address)}`;
export const marketPath = (id: string): string => `/markets/${part(id)}`;
export const oraclePath = (chainId: number, address: string): string => `/oracles/${chainId}/${part(address)}`;
export const curatorPath = (id: string): string => `/curators/${part(id)}`;
export const protocolPath = (id: string): string => `/protocols/${part(id)}`;
export const chainPath = (id: number | string): string => `/chains/${part(String(id))}`;
export const eventPath = (id: string | number): string => `/events/${part(String(id))}`;
export const signalPath = (id: string | number): string => `/signals/${part(String(id))}`;
export const basketPath = (id: string): string => `/baskets/${part(id)}`;
export const indexPath = (id: string): string => `/indices/${part(id)}`;

/** A link to another site only if it is one: `javascript:` and the like are not. */
export function outside(url: string | null | undefined): string | null {
  if (!url) return null;
  try {
    const { protocol, href } = new URL(url);
    return protocol === 'https:' || protocol === 'http:' ? href : null;
  } catch {
    return null;
  }
}

/** The description of the operation that answers at a target such as `/v1/vaults?limit=50`. */
export function referenceOf(target: string): Reference | undefined {
  const given = (target.split('?')[0] ?? '').split('/');
  const fits = ({ path }: Reference): boolean => {
    const parts = path.split('/');
    return parts.length === given.length && parts.every((name, at) => name.startsWith('{') || name === given[at]);
  };
  return references.find(fits);
}

/** An operation's path with `{names}`, the address of its description, and a sentence about it. */
export interface Reference {
  path: string;
  link: string;
  summary: string;
}
