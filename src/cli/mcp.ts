import { callerOf } from '../runtime/host.ts'
import { openConfiguredHost } from '../runtime/hosting.ts'
import type { Register } from './command.ts'
import { plain } from './io.ts'
import { type CommonOptions, inTenant, withTenant } from './session.ts'

const register: Register = (command, io) => {
  withTenant(command)
    .addHelpText(
      'after',
      '\nThe client is whoever AMBIT_KEY says; without a key it is the operator of this machine, whom nobody has verified.\nOver HTTP the same is at `/mcp` of `ambit host serve`.',
    )
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { serveMcpStdio } = await import('../mcp/stdio.ts')
        const host = await openConfiguredHost(ambit, caller.tenant, (text) => io.err(`${plain(text)}\n`))
        const stopping = new AbortController()
        const off = io.onSignal(() => stopping.abort())
        try {
          await serveMcpStdio({ ambit, host, caller: callerOf(caller) }, stopping.signal)
        } finally {
          off()
          await host.close()
        }
      }),
    )
}
export default register
