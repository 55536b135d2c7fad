import { openConfiguredHost } from '../../runtime/hosting/configured-host.ts'
import { callerOf } from '../../runtime/identity/caller.ts'
import { agentToolFor } from '../../runtime/operations/agent-tool.ts'
import { refuseAdministrator, whoAsks } from '../identity/who-asks.ts'
import { type CommonOptions, inTenant, sourceOf, withTenant } from '../session.ts'
import { type Register, tell } from '../terminal/io.ts'
import { keepUp } from './reload.ts'

export default ((command, io) => {
  withTenant(command)
    .addHelpText(
      'after',
      "\nThe client acts with the key in AMBIT_KEY, which must not be an administrator's. Without a key it may call what is open\nto everybody, and evidence says `anonymous`.\nOver HTTP the same is at `/mcp` of `ambit host serve`.",
    )
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        refuseAdministrator(caller)
        const { serveMcpStdio } = await import('../../mcp/stdio.ts')
        const host = await openConfiguredHost(ambit, caller.tenant, tell(io))
        const stopping = new AbortController()
        // Standard output is the client's.
        const aside = { ...io, out: io.err }
        const served = { ...host, underWay: host.gateway.underWay }
        const kept = keepUp(aside, { ambit, served, source: sourceOf(io, options) }, stopping.signal)
        void kept.then(() => stopping.abort())
        // A key may be revoked at any time.
        const asks = async () => callerOf(await whoAsks(ambit, io, options))
        const agent = async () => {
          const asking = await whoAsks(ambit, io, options)
          // Whoever speaks there is an agent, not the person at this machine.
          return agentToolFor({ ambit, caller: asking, by: callerOf(asking), host: async () => host, served: true })
        }
        try {
          await serveMcpStdio(ambit, host, asks, stopping.signal, { agent })
        } finally {
          stopping.abort()
          await kept
          await host.close()
        }
      }),
    )
}) satisfies Register
