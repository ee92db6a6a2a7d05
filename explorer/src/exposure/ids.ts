// The pages of what a graph names.

import { assetPath, chainPath, curatorPath, oraclePath, protocolPath, vaultPath } from '../links.js';

/** `1:0x…`: a chain and an address. */
const ON_CHAIN = /^(\d+):(0x[0-9a-fA-F]{40})$/;

/** The address of the page of a node; null where there is none. */
export function outsideId(kind: string, id: string): string | null {
  const [, chain = '', address = ''] = ON_CHAIN.exec(id) ?? [];
  switch (kind) {
    case 'vault':
      return vaultPath(id);
    case 'asset':
    case 'wrapper':
      return address ? assetPath(Number(chain), address) : `/search?q=${encodeURIComponent(id)}`;
    case 'oracle':
      return address ? oraclePath(Number(chain), address) : null;
    case 'chain':
      return chainPath(id);
    case 'curator':
      return curatorPath(id);
    case 'protocol':
      return protocolPath(id);
    default:
      return null;
  }
}
