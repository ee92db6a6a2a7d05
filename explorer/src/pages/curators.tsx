// All curators.

import { curatorPath } from '../links.js';
import type { CuratorRow } from '../types.js';
import { Count, Outside, Percent, Text, To, Usd } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<CuratorRow>({
  api: '/v1/curators',
  title: 'Curators',
  about: 'Who decides where the money of curated vaults goes.',
  noun: 'curators',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Curator', sort: 'name', header: true, cell: (row) => <To href={curatorPath(row.id)}>{row.name}</To> },
    { label: 'About', cell: (row) => <Text text={row.one_liner} /> },
    { label: 'Vaults', sort: 'vault_count', number: true, cell: (row) => <Count n={row.vault_count} /> },
    { label: 'TVL', sort: 'tvl_total', number: true, cell: (row) => <Usd amount={row.tvl_total} /> },
    { label: 'APR, mean', sort: 'avg_apr', number: true, cell: (row) => <Percent of={row.avg_apr} /> },
    { label: 'Website', cell: (row) => <Outside url={row.website} /> },
  ],
});
