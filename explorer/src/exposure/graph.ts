// The exposure of a vault as a graph: the vault, what it holds, and what that depends on.

import { outsideId } from './ids.js';
import type { LookThrough, VaultDetail } from '../types.js';

/** What a node is. */
export type Kind = 'vault' | 'asset' | 'wrapper' | 'oracle' | 'bridge' | 'signers' | 'cluster' | 'chain' | 'curator' | 'protocol';

/** A node. */
export interface Node {
  id: string;
  kind: Kind;
  label: string;
  /** Address of its page. */
  href: string | null;
  /** Whether its part in the exposure is verified; null where that is not asked. */
  verified: boolean | null;
}

/** A dependency of one node on another, with the share of the vault's value to which it applies. */
export interface Edge {
  from: string;
  to: string;
  share: number | null;
}

/** The graph; the first node is the vault. */
export interface ExposureGraph {
  nodes: Node[];
  edges: Edge[];
}

interface Exposed {
  id: string;
  share: number;
}

/** Makes the graph: from the look-through where there is one, else from the exposures that the score counts. */
export function graphOf(vault: VaultDetail, through: LookThrough | null): ExposureGraph {
  const nodes = new Map<string, Node>();
  const edges = new Map<string, Edge>();
  const root = `vault:${vault.id}`;
  const add = (kind: Kind, id: string, label: string, verified: boolean | null = null): string => {
    const name = `${kind}:${id}`;
    const known = nodes.get(name);
    if (!known) nodes.set(name, { id: name, kind, label: label || id, href: outsideId(kind, id), verified });
    else if (verified === false) known.verified = false;
    return name;
  };
  const join = (from: string, to: string, share: number | null): void => {
    const name = `${from} ${to}`;
    const known = edges.get(name);
    if (from !== to) edges.set(name, { from, to, share: known?.share != null && share !== null ? known.share + share : share });
  };
  nodes.set(root, { id: root, kind: 'vault', label: vault.name || vault.id, href: null, verified: null });
  if (vault.curator_id) join(root, add('curator', vault.curator_id, vault.curator_name ?? ''), null);
  join(root, add('protocol', vault.protocol_id, vault.protocol_name), null);
  join(root, add('chain', String(vault.chain_id), vault.chain_name), null);
  if (through) {
    for (const { assetKey, symbol, share, wrappers, oracles, bridges } of through.assets) {
      const asset = add('asset', assetKey, symbol);
      join(root, asset, share);
      // The answer does not say which wrapper contains which, so each of them stands beside the others.
      for (const wrapper of wrappers) join(asset, add('wrapper', wrapper.id, wrapper.id), wrapper.share);
      for (const feed of oracles) join(asset, add('oracle', feed.id, feed.vendor ? `${feed.vendor} feed` : feed.id), feed.share);
      for (const bridge of bridges) join(asset, add('bridge', bridge.id, bridge.id, bridge.verified), bridge.share);
    }
    for (const signers of through.signerSets) join(root, add('signers', signers.id, signers.id, signers.verified), signers.share);
    for (const cluster of through.clusters) join(root, add('cluster', cluster.id, cluster.id), cluster.share);
    return { nodes: [...nodes.values()], edges: [...edges.values()] };
  }
  const inputs = vault.score_provenance?.inputs.asset as { exposures?: Exposed[] } | undefined;
  for (const { id, share } of inputs?.exposures ?? []) {
    const isVault = id.startsWith('vault:');
    join(root, isVault ? add('vault', id.slice(6), id.slice(6)) : add('asset', id, id), share);
  }
  if ((inputs?.exposures ?? []).length === 0 && vault.asset_symbol) join(root, add('asset', vault.asset_symbol, vault.asset_symbol), 1);
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}
