// All chains.

import { chainPath } from '../links.js';
import type { ChainRow } from '../types.js';
import { Count, Text, To, Usd, When } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<ChainRow>({
  api: '/v1/chains',
  title: 'Chains',
  about: 'The chains on which vaults are followed.',
  noun: 'chains',
  rowKey: (row) => String(row.chain_id),
  columns: [
    { label: 'Chain', header: true, cell: (row) => <To href={chainPath(row.chain_id)}>{row.name}</To> },
    { label: 'Chain id', number: true, cell: (row) => String(row.chain_id) },
    { label: 'Native token', cell: (row) => <Text text={row.native_symbol} /> },
    { label: 'Vaults', number: true, cell: (row) => <Count n={row.vault_count} /> },
    { label: 'Scored', number: true, cell: (row) => <Count n={row.scored_vault_count} /> },
    { label: 'Protocols', number: true, cell: (row) => <Count n={row.protocol_count} /> },
    { label: 'TVL', number: true, cell: (row) => <Usd amount={row.tvl_usd} /> },
    { label: 'Read', cell: (row, now) => <When at={row.last_synced_at} now={now} short /> },
  ],
});
