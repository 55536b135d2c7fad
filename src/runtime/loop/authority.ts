import type { GatewayDeps } from '../../gateway/deps.ts'
import { grantedPaths } from '../../gateway/run.ts'
import { covers } from '../../grants/cover.ts'
import { liveGrants } from '../../grants/live.ts'
import type { Grant, Revocation } from '../../model/grant.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunResource, RunTool } from '../../runs/surface.ts'
import { type NumberedRevocation, revocationsAfter, rootsAndLast } from '../../storage/tables/runs/revocations.ts'
import type { Traced } from '../trace.ts'
import type { RunNode, RunPrivate } from './tree.ts'

export type Authority = ReturnType<typeof openAuthority>

type Roots = RunPrivate['roots']

/** A call of a run while it is made. */
export interface CallUnderWay {
  readonly node: RunNode
  /** Undefined for a name that the agent does not declare. */
  readonly tool: RunTool | undefined
  readonly span: Traced
  /** Aborts with its run, and when what it was granted is revoked. */
  readonly signal: AbortSignal
  /** The paths that its provider is told, once it is asked. */
  granted: readonly string[]
  readonly begunMs: number
  /** The number of the last revocation that was known when the gates last judged it. */
  judgedBy: number
}

/** What the runs of a tree may touch, as far as revocations are known, and the calls that rest on it. */
export function openAuthority({ store, tenant, clock }: GatewayDeps, minted: RunPrivate) {
  let roots: Roots = minted.roots
  let last = minted.revocationsSeen
  const revocations: Revocation[] = []
  const calls = new Map<CallUnderWay, AbortController>()
  const add = (more: readonly NumberedRevocation[]): void => {
    revocations.push(...more.filter(({ number }) => number > last))
    last = Math.max(last, ...more.map(({ number }) => number))
  }
  const liveNow = (node: RunNode, now = clock.now()): readonly Grant[] => {
    const isRooted = ({ path }: Grant): boolean => roots === 'unbounded' || roots.some((root) => covers(root, path))
    const line = lineOf(node).map(({ record: { run_id: runId, subject, grants } }) => {
      return { runId, subject: subject.id, grants: grants.filter(isRooted) }
    })
    return liveGrants(line, { now, revocations })
  }
  const pathsFor = (node: RunNode, { branches }: RunResource, now = clock.now()): readonly string[] =>
    grantedPaths(liveNow(node, now), branches)
  /** Whether something was revoked of what the provider of a call was told. */
  const isRevoked = ({ node, tool, granted, begunMs }: CallUnderWay): boolean => {
    const left = tool?.resource && pathsFor(node, tool.resource, begunMs)
    return left !== undefined && !granted.every((path) => left.includes(path))
  }
  return {
    add,
    isRevoked,
    pathsFor,
    /** The grants of a run that live now: each lies below a root and derives from a live one of the run above. */
    liveGrants: liveNow,
    /** The number of the last revocation that is known here. */
    lastKnown: (): number => last,
    roots: (): Roots => roots,
    /** Reads the roots as they are now, below which a grant has to lie, and what was revoked since the grants were minted. */
    readAgain: async (): Promise<void> => {
      const { own, more } = await store.read(function* () {
        return { own: (yield* rootsAndLast(tenant)).roots, more: yield* revocationsAfter(tenant, last) }
      })
      roots = rootsFor(tenant, own, minted.roots === 'unbounded')
      add(more)
    },
    /** Takes calls back that rest on what was revoked. */
    endRevoked: async (): Promise<void> => {
      add(await store.read(() => revocationsAfter(tenant, last)))
      for (const [call, abort] of calls)
        if (isRevoked(call)) abort.abort(new Error('the grants of the call were revoked'))
    },
    /** Does one call, which is known here until it has ended. */
    during: async <T>(node: RunNode, capabilityId: string, span: Traced, work: (call: CallUnderWay) => Promise<T>) => {
      const tool = node.resolved.tools.find((each) => each.capabilityId === capabilityId)
      const abort = new AbortController()
      const signal = AbortSignal.any([node.ending.signal, abort.signal])
      const call: CallUnderWay = { node, tool, span, signal, granted: [], begunMs: clock.now(), judgedBy: last }
      calls.set(call, abort)
      try {
        return await work(call)
      } finally {
        calls.delete(call)
      }
    },
  }
}

/** The roots that hold grants. Only the tenant `local` needs none, and only in its own process. */
export const rootsFor = (tenant: TenantId, own: readonly string[], isOwnProcess: boolean): Roots =>
  isOwnProcess && tenant === 'local' && own.length === 0 ? 'unbounded' : own

/** From the root of a tree down to this run. */
const lineOf = (node: RunNode): readonly RunNode[] =>
  node.parent === undefined ? [node] : [...lineOf(node.parent), node]
