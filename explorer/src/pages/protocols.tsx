// All protocols.

import { protocolPath } from '../links.js';
import type { ProtocolRow } from '../types.js';
import { Count, To, Usd } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<ProtocolRow>({
  api: '/v1/protocols',
  title: 'Protocols',
  about: 'The protocols whose vaults are followed.',
  noun: 'protocols',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Protocol', header: true, cell: (row) => <To href={protocolPath(row.id)}>{row.name}</To> },
    { label: 'Vaults', number: true, cell: (row) => <Count n={row.vault_count} /> },
    { label: 'TVL', number: true, cell: (row) => <Usd amount={row.tvl} /> },
  ],
});
