import { effectiveMode } from '../../grants/ceilings.ts'
import { covers } from '../../grants/cover.ts'
import { faultOf } from '../../grants/parse.ts'
import type { Grant } from '../../model/grant.ts'
import { notFound } from '../../policy/gates/checks.ts'
import { deny, type Refusal } from '../../policy/gates/refusal.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { type CallRun, isSurfaced, liveGrantsOf, type ResourceNeed } from '../run.ts'

/** Gate 5b of a run, asked before all others: an answer of theirs would say that the capability exists. */
export function surfaceGate({ call }: Attempt): GateAnswer {
  const bounds = call.run?.bounds
  if (bounds === undefined || isSurfaced(bounds.surface, call.capabilityId)) return undefined
  return notFound('surface', call.capabilityId)
}

/** Gate 5b of a run: what the call needs of resources is granted now, within the ceilings that the run inherited. */
export function grantsGate({ deps, call: { run }, capability, input }: Resolved): GateAnswer {
  const needs = capability.needs?.(input) ?? []
  return run === undefined || needs.length === 0 ? undefined : checkNeeds(run, needs, deps.clock.now())
}

async function checkNeeds(run: CallRun, needs: readonly ResourceNeed[], nowMs: number): Promise<Refusal | undefined> {
  const live = await liveGrantsOf(run, nowMs)
  for (const need of needs) {
    const refusal = checkCeiling(run, need) ?? checkPaths(run, live, need)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function checkCeiling({ bounds }: CallRun, { kind, mode }: ResourceNeed): Refusal | undefined {
  if (bounds === undefined) return undefined
  const allowed = effectiveMode({ kind, declared: mode, provider: { maxMode: mode }, ceilings: bounds.ceilings })
  return allowed === mode
    ? undefined
    : deny('grants', `the run may not use ${kind} in mode ${mode}`, { reason: 'resource_ceiling', kind })
}

function checkPaths({ grants }: CallRun, live: readonly Grant[], { paths }: ResourceNeed): Refusal | undefined {
  const missing = paths.find((path) => !isCovered(path, live))
  if (missing === undefined) return undefined
  const reason = isCovered(missing, grants) ? 'grant_expired' : 'grant_missing'
  return deny('grants', 'the run has no live grant for a path that the call needs', { reason })
}

const isCovered = (path: string, grants: readonly Grant[]): boolean =>
  faultOf(path) === undefined && grants.some((grant) => covers(grant.path, path))
