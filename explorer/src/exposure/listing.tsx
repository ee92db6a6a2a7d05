// The exposure graph as a nested list.

import type { JSX } from 'preact';
import { percent } from '../format.js';
import { To } from '../ui/basic.js';
import type { ExposureGraph } from './graph.js';
import { kindOf } from './picture.js';

/** The list below the first node. */
export function Listing({ graph }: { graph: ExposureGraph }): JSX.Element | null {
  const [root] = graph.nodes;
  return root ? <Below graph={graph} id={root.id} above={[]} /> : null;
}

function Below({ graph, id, above }: { graph: ExposureGraph; id: string; above: readonly string[] }): JSX.Element | null {
  const below = graph.edges.filter(({ from }) => from === id).sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  if (below.length === 0) return null;
  return (
    <ul>
      {below.map(({ to, share }) => {
        const node = graph.nodes.find((one) => one.id === to);
        if (!node) return null;
        return (
          <li key={to}>
            {kindOf(node.kind)}: <To href={node.href}>{node.label}</To>
            {share !== null && `, ${percent(share)}`}
            {node.verified === false && ', not verified'}
            {above.includes(to) ? ' (already above)' : <Below graph={graph} id={to} above={[...above, id]} />}
          </li>
        );
      })}
    </ul>
  );
}
