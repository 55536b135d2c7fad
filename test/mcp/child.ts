// A process of ours with a server behind it, which does nothing about signals. Says `ready` when the server works.

import { openEgress } from '../../src/adapters/egress/egress.ts'
import { openMcp } from '../../src/adapters/mcp/open.ts'
import type { McpUpstream } from '../../src/model/config/upstream.ts'

const upstream = JSON.parse(process.argv[2] ?? '') as McpUpstream
const { capabilities } = openMcp(upstream, {
  secret: () => Promise.reject(new Error('there are none')),
  egress: openEgress(),
  clock: Date,
  folder: process.cwd(),
  notice: () => undefined,
})
const call = {
  invocationId: 'inv_1',
  correlation: { correlation_id: 'cor_1' },
  signal: new AbortController().signal,
}
await capabilities[0]?.handler({}, call as never)
process.stdout.write('ready\n')
