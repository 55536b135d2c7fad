// An MCP server over standard input and output that only says again what it is told: what a governed one is compared with.

import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const count = Number(process.argv[2] ?? 1)
const inputSchema = { type: 'object' as const, properties: { text: { type: 'string' as const } } }
const tools = Array.from({ length: count }, (_, n) => ({
  name: n === 0 ? 'echo' : `echo_${n}`,
  description: 'Says it again.',
  inputSchema,
}))

serveStdio(() => {
  const server = new Server({ name: 'echo', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text' as const, text: String(params.arguments?.['text'] ?? '') }],
  }))
  return server
})
