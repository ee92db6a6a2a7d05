// All baskets.

import { basketPath } from '../links.js';
import type { BasketRow } from '../types.js';
import { Hash, To, When, Words } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<BasketRow>({
  api: '/v1/baskets',
  title: 'Baskets',
  about: 'Sets of vaults or assets with weights, in versions that never change and are named by their hash.',
  noun: 'baskets',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Basket', header: true, cell: (row) => <To href={basketPath(row.id)}>{row.name}</To> },
    { label: 'Constituents', cell: (row) => <Words name={row.constituent_type} /> },
    { label: 'Version', cell: (row) => row.version_id },
    { label: 'Effective from', cell: (row, now) => <When at={row.effective_from} now={now} short /> },
    { label: 'Hash', cell: (row) => <Hash text={row.content_hash} /> },
  ],
});
