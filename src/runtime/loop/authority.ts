import type { TraceParent } from '../../base/trace.ts'
import type { GatewayDeps } from '../../gateway/deps.ts'
import { grantedPaths } from '../../gateway/run.ts'
import { covers } from '../../grants/cover.ts'
import { liveGrants } from '../../grants/live.ts'
import type { Grant, Revocation } from '../../model/grant.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type NumberedRevocation, revocationsAfter } from '../../storage/tables/revocations.ts'
import type { RunNode, RunPrivate } from './tree.ts'

export type Authority = ReturnType<typeof openAuthority>

type Roots = readonly string[] | 'unbounded'

/** A call of a run while it is made. */
interface CallUnderWay {
  readonly node: RunNode
  readonly capabilityId: string
  readonly abort: AbortController
  readonly place: TraceParent
  /** What its provider says that it has touched. */
  scopes: readonly string[]
}

/** What the runs of a tree may touch. `isNew`: nothing can have been revoked since its grants were minted. */
export function openAuthority(
  { store, tenant, clock }: GatewayDeps,
  { roots: mintedUnder, revocationsSeen }: Pick<RunPrivate, 'roots' | 'revocationsSeen'>,
  isNew: boolean,
) {
  let roots: Roots = mintedUnder
  let list: readonly Revocation[] | undefined = isNew ? [] : undefined
  let last = revocationsSeen
  const calls = new Map<string, CallUnderWay>()
  const add = (more: readonly NumberedRevocation[]): readonly Revocation[] => {
    const added = more.filter(({ number }) => number > last)
    last = added.at(-1)?.number ?? last
    list = [...(list ?? []), ...added]
    return list
  }
  const read = async () => add(await store.read(() => revocationsAfter(tenant, last)))
  const liveUnder = (node: RunNode, now: number, revocations: readonly Revocation[]): readonly Grant[] => {
    const isRooted = ({ path }: Grant): boolean => roots === 'unbounded' || roots.some((root) => covers(root, path))
    const line = lineOf(node).map(({ record: { run_id: runId, subject, grants } }) => {
      return { runId, subject: subject.id, grants: grants.filter(isRooted) }
    })
    return liveGrants(line, { now, revocations })
  }
  /** Whether nothing is granted any more for the resource of a call, as far as revocations are known. */
  const isRevoked = (node: RunNode, capabilityId: string): boolean => {
    const isAbout = ({ tools }: { readonly tools: readonly { readonly capabilityId: string }[] }): boolean =>
      tools.some((tool) => tool.capabilityId === capabilityId)
    const resource = node.resolved.resources.find(isAbout)
    return (
      resource !== undefined && grantedPaths(liveUnder(node, clock.now(), list ?? []), resource.branches).length === 0
    )
  }
  return {
    roots: (): Roots => roots,
    /** The roots as they are now: a grant below none of them does not live. */
    setRoots: (now: Roots): void => {
      roots = now
    },
    /** The grants of a run that live now: each lies below a root and derives from a live one of the run above. */
    liveGrants: (node: RunNode, nowMs: number): Promise<readonly Grant[]> | readonly Grant[] =>
      list === undefined ? read().then((found) => liveUnder(node, nowMs, found)) : liveUnder(node, nowMs, list),
    /** The number of the last revocation that is known here. */
    lastKnown: (): number => last,
    add,
    isRevoked,
    /** Takes calls back whose resource has no live grant any more. */
    endRevoked: async (): Promise<void> => {
      if (calls.size === 0) return
      await read()
      for (const { node, capabilityId, abort } of calls.values())
        if (isRevoked(node, capabilityId)) abort.abort(new Error('the grants of the call were revoked'))
    },
    /** A call that begins. Its signal aborts with its run, and when what it was granted is revoked. */
    beginCall: (node: RunNode, callId: string, capabilityId: string, place: TraceParent) => {
      const abort = new AbortController()
      const call: CallUnderWay = { node, capabilityId, abort, place, scopes: [] }
      calls.set(callId, call)
      const { signal: above } = node.ending
      const leave = (): void => abort.abort(above.reason)
      if (above.aborted) leave()
      above.addEventListener('abort', leave, { once: true })
      const end = (): void => {
        above.removeEventListener('abort', leave)
        calls.delete(callId)
      }
      return { signal: abort.signal, call, end }
    },
    callUnderWay: (callId: string): CallUnderWay | undefined => calls.get(callId),
  }
}

/** The roots that hold grants. Only the tenant `local` needs none, and only in its own process. */
export const rootsFor = (tenant: TenantId, own: readonly string[], isOwnProcess: boolean): Roots =>
  isOwnProcess && tenant === 'local' && own.length === 0 ? 'unbounded' : own

/** From the root of a tree down to this run. */
export const lineOf = (node: RunNode): readonly RunNode[] =>
  node.parent === undefined ? [node] : [...lineOf(node.parent), node]
