// The exposure graph as a picture: layers from the vault down, nodes that are links, arrow keys that walk along the edges.

import dagre from '@dagrejs/dagre';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { percent } from '../format.js';
import type { ExposureGraph, Kind, Node } from './graph.js';

const [WIDTH, HEIGHT, MARGIN] = [176, 46, 12];
const KINDS: Record<Kind, string> = {
  vault: 'Vault',
  asset: 'Asset',
  wrapper: 'Wrapper',
  oracle: 'Price feed',
  bridge: 'Bridge',
  signers: 'Signers',
  cluster: 'Operators',
  chain: 'Chain',
  curator: 'Curator',
  protocol: 'Protocol',
};

/** What a node is, as a word. */
export const kindOf = (kind: Kind): string => KINDS[kind];

function laidOut({ nodes, edges }: ExposureGraph): dagre.graphlib.Graph {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 70, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { from, to } of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  return graph;
}

/** A label that fits into its node. */
function fitting(text: string): string {
  return [...text].length > 22 ? `${[...text].slice(0, 21).join('')}…` : text;
}

/** The picture. */
export function Picture({ graph, title }: { graph: ExposureGraph; title: string }): JSX.Element {
  const box = useRef<SVGSVGElement>(null);
  const layout = laidOut(graph);
  const { width = WIDTH, height = HEIGHT } = layout.graph();
  /** Moves the focus along an edge, or to a neighbour of the same node. */
  const walk = (event: KeyboardEvent, node: Node): void => {
    const step = { ArrowRight: 'down', ArrowLeft: 'up', ArrowDown: 'next', ArrowUp: 'before' }[event.key];
    if (!step) return;
    event.preventDefault();
    const below = graph.edges.filter(({ from }) => from === node.id).map(({ to }) => to);
    const above = graph.edges.filter(({ to }) => to === node.id).map(({ from }) => from);
    const beside = above.flatMap((one) => graph.edges.filter(({ from }) => from === one).map(({ to }) => to));
    const at = beside.indexOf(node.id);
    const target = { down: below[0], up: above[0], next: beside[at + 1], before: beside[at - 1] }[step];
    if (target) box.current?.querySelector<SVGElement>(`[data-node="${CSS.escape(target)}"]`)?.focus();
  };
  return (
    <div class="scroll graph" role="group" aria-label={title}>
      <p class="hidden" id="walk">
        Arrow keys move along the graph: right to what a node depends on, left to what depends on it, up and down to its neighbours.
      </p>
      <svg ref={box} width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-describedby="walk">
        {graph.edges.map(({ from, to, share }) => {
          const [a, b] = [layout.node(from), layout.node(to)];
          const [x1, y1, x2, y2] = [a.x + WIDTH / 2, a.y, b.x - WIDTH / 2, b.y];
          const middle = (x1 + x2) / 2;
          return (
            <g key={`${from} ${to}`} class="edge">
              <path
                d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
                stroke-width={share === null ? 1 : 1 + 4 * Math.min(1, Math.max(0, share))}
              />
              {share !== null && (
                <text x={middle} y={(y1 + y2) / 2 - 4} text-anchor="middle">
                  {percent(share)}
                </text>
              )}
            </g>
          );
        })}
        {graph.nodes.map((node) => {
          const { x, y } = layout.node(node.id);
          const said = `${KINDS[node.kind]}${node.verified === false ? ', not verified' : ''} ${node.label}`;
          const inside = (
            <>
              {fitting(node.label) !== node.label && <title>{node.label}</title>}
              <rect x={x - WIDTH / 2} y={y - HEIGHT / 2} width={WIDTH} height={HEIGHT} rx="8" />
              <text class="kind" x={x - WIDTH / 2 + 10} y={y - 5}>
                {KINDS[node.kind]}
                {node.verified === false ? ', not verified ' : ' '}
              </text>
              <text class="label" x={x - WIDTH / 2 + 10} y={y + 13}>
                {fitting(node.label)}
              </text>
            </>
          );
          return node.href ? (
            <a
              key={node.id}
              href={node.href}
              class={`node ${node.kind}`}
              data-node={node.id}
              onKeyDown={(event) => walk(event, node)}
            >
              {inside}
            </a>
          ) : (
            <g
              key={node.id}
              class={`node ${node.kind}`}
              data-node={node.id}
              tabindex={0}
              role="img"
              aria-label={said}
              onKeyDown={(event) => walk(event, node)}
            >
              {inside}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
