import { withRun } from '../client/run-handle.ts'
import { operable } from '../operations/table.ts'
import { openConfiguredHost } from '../runtime/hosting/configured-host.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { callerOf } from '../runtime/identity/caller.ts'
import { envelopeOf } from '../runtime/operations/calls.ts'
import { performOperation } from '../runtime/operations/perform.ts'
import type { AmbitOptions, Errand, SessionWork } from './ambit.ts'
import { callerFor } from './identity/who-asks.ts'
import { opened } from './session.ts'
import { type Io, tell } from './terminal/io.ts'

/** Ambit over the configured store, as the holder of `AMBIT_KEY`, for the length of `work`. */
export const withLocalSession = (
  io: Io,
  options: AmbitOptions,
  errand: Errand,
  signal: AbortSignal,
  work: SessionWork,
) =>
  opened(io, options, async (runtime) => {
    const caller = await callerFor(runtime, io, options, errand)
    const by = callerOf(caller)
    let opening: Promise<AmbitHost> | undefined
    const host = () => {
      opening ??= openConfiguredHost(runtime, caller.tenant, tell(io), { onlyAsked: true })
      return opening
    }
    const context = { ambit: runtime, caller, by, host, signal }
    try {
      // An open host ends requests whose time is over.
      if (errand.path[0] === 'approvals') await host()
      await work({
        ambit: withRun(operable((path, operation, input) => performOperation(context, path, operation, input))),
        place: `tenant \`${caller.tenant}\``,
        hasKey: caller.subject.verified === true,
        hostId: async () => (await host()).hostId,
        stream: async (request, onChunk) => {
          const envelope = { ...envelopeOf(request), mode: 'stream' }
          const { result, chunks } = await (await host()).gateway.invoke(by, envelope, { chunk: onChunk })
          if (result.replayed === true) for (const each of chunks ?? []) onChunk(each)
          return result
        },
      })
    } finally {
      await (await opening)?.close()
    }
  })
