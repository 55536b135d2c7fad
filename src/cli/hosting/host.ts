import { type CommonOptions, withTenant } from '../session.ts'
import type { Register } from '../terminal/io.ts'
import { wholeNumber } from '../terminal/options.ts'

export interface ServeOptions extends CommonOptions {
  readonly port?: number
  readonly hostname?: string
  readonly conformance?: boolean
  readonly key?: string
  readonly open?: boolean
  readonly scopedKey?: string
}

export default ((host, io) => {
  withTenant(host.command('serve'))
    .description('serve the capabilities of the configuration over HTTP, compatible with CHP, until Ctrl-C')
    .option('--port <n>', "the port, 0 for any that is free (default: the configuration's, or 4770)", port)
    .option('--hostname <name>', "the address to listen on (default: the configuration's, or 127.0.0.1)")
    .option('--key <key>', 'one more key, shared by callers who are not told apart; API keys work without it')
    .option(
      '--open',
      'let in callers without a key, on this machine only: they call what is open and read all evidence',
    )
    .option('--conformance', 'serve what the public conformance suite calls, from a store that ends with it')
    .option('--scoped-key <key>', 'with --conformance: a key for `conformance.echo` alone')
    .addHelpText(
      'after',
      '\nA change of the configuration or its policies is taken up at once, as on SIGHUP; a broken one is reported and changes\nnothing. SIGINT and SIGTERM end it when the calls under way are done; a second one ends it at once.',
    )
    .action(async (options: ServeOptions) => {
      const { serve, serveConformance } = await import('./serve.ts')
      const { withLog } = await import('./host-log.ts')
      await withLog(io, (io, log) => (options.conformance ? serveConformance : serve)(io, options, log))
    })
}) satisfies Register

const port = wholeNumber(0, 65_535)
