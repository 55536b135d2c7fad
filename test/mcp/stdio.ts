// A server over stdio: `both`, `modern` for the newer revision alone, `legacy` for the older ones alone.

import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { makeServer } from './tools.ts'

const [, , revisions] = process.argv
if (revisions === 'legacy') await makeServer().connect(new StdioServerTransport())
else serveStdio(() => makeServer(), { legacy: revisions === 'modern' ? 'reject' : 'serve' })
