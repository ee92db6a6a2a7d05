// All indices. They need an index token.

import { indexPath } from '../links.js';
import type { IndexRow } from '../types.js';
import { Text, To } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<IndexRow>({
  api: '/v1/indices',
  title: 'Indices',
  about: 'Levels of baskets over time, one a day.',
  noun: 'indices',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Index', header: true, cell: (row) => <To href={indexPath(row.id)}>{row.name}</To> },
    { label: 'Level', number: true, cell: (row) => <Text text={row.latest?.level?.toFixed(2)} /> },
    { label: 'On', cell: (row) => <Text text={row.latest?.date} /> },
    { label: 'Base', cell: (row) => `${row.base_level} on ${row.base_date ?? 'a day to come'}` },
    { label: 'Methodology', cell: (row) => row.methodology_version },
  ],
});
