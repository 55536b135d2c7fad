import { Failure } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import type { ApprovalDecision } from '../model/wire/wire.ts'
import { approvalFor, approvalsFor } from '../runtime/approvals/queue.ts'
import { openConfiguredHost } from '../runtime/hosting/configured-host.ts'
import { type AmbitHost, callerOf } from '../runtime/hosting/host.ts'
import { type Caller, readerOf } from '../runtime/identity/caller.ts'
import { wholeList } from '../runtime/pages.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Door } from './door.ts'

/** The configured host in this process, for the length of `work`. */
export async function withLocalDoor<T>(
  ambit: Runtime,
  caller: Caller,
  notice: (text: string) => void,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  const host = await openConfiguredHost(ambit, caller.tenant, notice)
  try {
    return await work(localDoor(ambit, host, caller))
  } finally {
    await host.close()
  }
}

function localDoor(ambit: Runtime, host: AmbitHost, caller: Caller): Door {
  const by = callerOf(caller)
  const reader = readerOf(caller)
  return {
    hostId: host.hostId,
    capabilities: async () => host.gateway.discover(by),
    invoke: async (envelope, chunk) => {
      const watch = { chunk }
      const { result, chunks } = await host.gateway.invoke(by, envelope, watch)
      if (result.replayed === true) for (const each of chunks ?? []) chunk(each)
      return result
    },
    approvals: (state) =>
      wholeList(async (page) => {
        const { approvals: items, next } = await approvalsFor(ambit, reader, { state }, page)
        return defined({ items, next })
      }),
    approval: (id) => approvalFor(ambit, reader, id),
    decide: (id, decision) => decide(host, caller, id, decision),
  }
}

/** Only somebody whom a key has named can say yes or no. */
async function decide({ gateway }: AmbitHost, { subject }: Caller, id: string, wish: ApprovalDecision) {
  if (subject.verified === true) return gateway.decide(id, { principal: subject.id, subject }, wish)
  const help = 'put the API key of a registered approver into AMBIT_KEY'
  throw new Failure('approver.not_permitted', 'an approval needs somebody who is known by a key', {}, help)
}
