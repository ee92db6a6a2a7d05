// The exposure graph as a nested list.

import type { JSX } from 'preact';
import { percent } from '../format.js';
import { To } from '../ui/basic.js';
import type { ExposureGraph, Node } from './graph.js';
import { kindOf } from './picture.js';

/** A line of the list, with what stands below it. */
export interface Item {
  node: Node;
  share: number | null;
  below: Item[];
  /** Whether what stands below the node is listed where the node comes first. */
  isRepeated: boolean;
}

/** The lines below the first node, largest shares first. What is below a node is listed once, so cycles and shared parts end. */
export function itemsOf({ nodes, edges }: ExposureGraph): Item[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const from = new Map<string, { to: string; share: number | null }[]>();
  for (const edge of edges) from.set(edge.from, [...(from.get(edge.from) ?? []), edge]);
  const listed = new Set<string>();
  const below = (id: string): Item[] => {
    listed.add(id);
    const sorted = [...(from.get(id) ?? [])].sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
    return sorted.flatMap(({ to, share }) => {
      const node = byId.get(to);
      if (!node) return [];
      const isRepeated = listed.has(to) && from.has(to);
      return [{ node, share, isRepeated, below: isRepeated ? [] : below(to) }];
    });
  };
  const [root] = nodes;
  return root ? below(root.id) : [];
}

/** The list below the first node. */
export function Listing({ graph }: { graph: ExposureGraph }): JSX.Element | null {
  return <Items items={itemsOf(graph)} />;
}

function Items({ items }: { items: readonly Item[] }): JSX.Element | null {
  if (items.length === 0) return null;
  return (
    <ul>
      {items.map(({ node, share, below, isRepeated }) => (
        <li key={node.id}>
          {kindOf(node.kind)}: <To href={node.href}>{node.label}</To>
          {share !== null && `, ${percent(share)}`}
          {node.verified === false && ', not verified'}
          {isRepeated ? ' (its parts are listed once, elsewhere in this list)' : <Items items={below} />}
        </li>
      ))}
    </ul>
  );
}
