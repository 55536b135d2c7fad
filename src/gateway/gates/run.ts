import type { Json } from '../../base/canonical.ts'
import { defined } from '../../base/object.ts'
import { hasExpired } from '../../grants/grant.ts'
import { notFound } from '../../policy/gates/checks.ts'
import { deny, type Refusal } from '../../policy/gates/refusal.ts'
import type { Attempt, GateAnswer, Resolved } from '../attempt.ts'
import { type CallProblem, type CallRun, grantedPaths, isSurfaced, type RunTool } from '../run.ts'

/** Gate 5b of a run, asked before all others: an answer of theirs would say that the capability exists. */
export function surfaceGate({ call }: Attempt): GateAnswer {
  const bounds = call.run?.bounds
  if (bounds === undefined || isSurfaced(bounds.surface, call.capabilityId)) return undefined
  return notFound('surface', call.capabilityId)
}

/** Without a run, and in one that has no such tool, a capability of runs does not exist. */
export function runToolGate({ call, capability }: Resolved): GateAnswer {
  if (!capability.inRuns) return undefined
  const { run, capabilityId } = call
  const exists = run !== undefined && (run.bounds === undefined || run.bounds.tools.has(capabilityId))
  return exists ? undefined : notFound('surface', capabilityId)
}

/** Gate 5b of a run: the mode that the tool needs, then what is granted for its resource at this moment. */
export function grantsGate(attempt: Resolved): GateAnswer {
  const { run, capabilityId } = attempt.call
  const resource = run?.bounds?.tools.get(capabilityId)?.resource
  if (run?.bounds === undefined || resource === undefined) return undefined
  const refusal = checkMode(resource)
  if (refusal !== undefined) return refusal
  const nowMs = attempt.deps.clock.now()
  const live = run.bounds.liveGrants(nowMs)
  const check = (found: Awaited<typeof live>): Refusal | undefined => {
    attempt.granted = grantedPaths(found, resource.branches)
    return attempt.granted.length > 0 ? undefined : withoutGrant(run, resource, nowMs)
  }
  return live instanceof Promise ? live.then(check) : check(live)
}

/** Gate 5b, behind the schema of the arguments: what the packs of the run say of them, and of who acts. */
export function authorityGate({ call, input }: Resolved): GateAnswer {
  const found = call.run?.bounds?.demands?.rejects(input as Json)
  return found instanceof Promise ? found.then((problem) => refusedBy('grants', problem)) : refusedBy('grants', found)
}

/** Gate 6, before rules ask people: nobody is asked about what could not be done. */
export const conditionsGate = ({ call, input }: Resolved): GateAnswer =>
  refusedBy('policy', call.run?.bounds?.demands?.blocks(input as Json))

/** Gate 6b, before rules ask people: of an effect that is settled nothing will run. */
export function effectGate({ call }: Resolved): GateAnswer {
  const repeats = call.run?.bounds?.demands?.repeats
  return repeats?.().then((problem) => {
    const refusal = refusedBy('policy', problem)
    return refusal && problem?.code === 'effect_settled' ? { ...refusal, outcome: 'skipped' as const } : refusal
  })
}

const refusedBy = (gate: 'grants' | 'policy', problem: CallProblem | undefined): Refusal | undefined =>
  problem && deny(gate, problem.message, defined({ reason: problem.code, pointer: problem.pointer }))

type Resource = NonNullable<RunTool['resource']>

function checkMode({ name, mode, effective, isCeiling }: Resource): Refusal | undefined {
  if (effective === 'read-write' || effective === mode) return undefined
  if (isCeiling || effective === 'none')
    return deny('grants', `resource \`${name}\` is not delegated to this run`, { reason: 'resource_ceiling' })
  return deny('grants', `resource \`${name}\` is read only here`, { reason: 'resource_read_only' })
}

/** Says what became of the grants that the run was given, as far as all of them went the same way. */
function withoutGrant({ grants }: CallRun, { name, branches }: Resource, nowMs: number): Refusal {
  const held = grants.filter((grant) => grantedPaths([grant], branches).length > 0)
  const gone = held.every(({ expires_at }) => hasExpired(expires_at, nowMs)) ? 'grant_expired' : 'grant_revoked'
  const reason = held.length === 0 ? 'grant_missing' : gone
  const what = { grant_missing: 'needs a grant', grant_expired: 'has no grant any more: it has ended' }
  const message = reason === 'grant_revoked' ? 'has no grant any more: it was revoked' : what[reason]
  return deny('grants', `resource \`${name}\` ${message}`, { reason })
}
