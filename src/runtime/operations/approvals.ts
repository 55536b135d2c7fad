import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '../../base/object.ts'
import type { ApprovalRequest } from '../../model/approval.ts'
import { approvalFor, approvalsFor } from '../approvals/queue.ts'
import { readerOf } from '../identity/caller.ts'
import { wholeList } from '../pages.ts'
import type { HandlersOf, OperationContext } from './context.ts'

export const approvalHandlers: HandlersOf<'approvals'> = {
  approvals: {
    list: ({ ambit, caller }, { state, limit, cursor }) =>
      approvalsFor(ambit, readerOf(caller), defined({ state }), defined({ limit, cursor })),
    show: ({ ambit, caller }, { id }) => approvalFor(ambit, readerOf(caller), id),
    decide: async ({ host, caller: { subject } }, { id, ...decision }) =>
      (await host()).gateway.decide(id, { principal: subject.id, subject }, decision),
    watch,
  },
}

const pollMs = 500

/** New requests, oldest first, for as long as they are asked for. */
async function* watch(context: OperationContext, { pending = false }: { pending?: boolean | undefined }) {
  const seen = new Set<string>(pending ? [] : (await waiting(context)).map(({ approval_id }) => approval_id))
  while (!context.signal?.aborted) {
    for (const request of (await waiting(context)).toReversed()) {
      if (seen.has(request.approval_id)) continue
      seen.add(request.approval_id)
      yield request
    }
    await pause(pollMs, undefined, defined({ signal: context.signal })).catch(() => undefined)
  }
}

const waiting = ({ ambit, caller }: OperationContext): Promise<readonly ApprovalRequest[]> =>
  wholeList(async (page) => {
    const { approvals: items, next } = await approvalsFor(ambit, readerOf(caller), {}, page)
    return defined({ items, next })
  })
