// All signals.

import { signalPath } from '../links.js';
import type { Signal } from '../types.js';
import { Count, SeverityMark, To, Usd, When, Words } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<Signal>({
  api: '/v1/signals',
  title: 'Signals',
  about: 'Findings about vaults, assets and feeds, with how much money depends on them.',
  noun: 'signals',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Published', cell: (row, now) => <When at={row.publishedAt} now={now} short /> },
    { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
    { label: 'Signal', header: true, cell: (row) => <To href={signalPath(row.id)}>{row.title}</To> },
    { label: 'Category', cell: (row) => <Words name={row.category} /> },
    { label: 'Vaults', number: true, cell: (row) => <Count n={row.affectedVaultCount} /> },
    { label: 'Exposed', number: true, cell: (row) => <Usd amount={row.exposureUsd} /> },
  ],
});
