import { callerOf } from '../runtime/host.ts'
import { openConfiguredHost } from '../runtime/hosting.ts'
import { type Register, tell } from './io.ts'
import { keepUp } from './reload.ts'
import { type CommonOptions, inTenant, sourceOf, withTenant } from './session.ts'
import { whoAsks } from './who-asks.ts'

const register: Register = (command, io) => {
  withTenant(command)
    .addHelpText(
      'after',
      '\nThe client is whoever AMBIT_KEY says; without a key it is nobody in particular, and evidence says `anonymous`.\nOver HTTP the same is at `/mcp` of `ambit host serve`.',
    )
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const { serveMcpStdio } = await import('../mcp/stdio.ts')
        const host = await openConfiguredHost(ambit, caller.tenant, tell(io))
        const stopping = new AbortController()
        // Standard output is the client's.
        const aside = { ...io, out: io.err }
        const kept = keepUp(aside, { ambit, host, source: sourceOf(io, options) }, stopping.signal)
        void kept.then(() => stopping.abort())
        // A key may be taken back at any time. The operator of the machine stays the operator.
        const asks = io.env['AMBIT_KEY'] ? () => whoAsks(ambit, io, options) : async () => caller
        try {
          await serveMcpStdio({ ambit, host, caller: async () => callerOf(await asks()) }, stopping.signal)
        } finally {
          stopping.abort()
          await kept
          await host.close()
        }
      }),
    )
}
export default register
