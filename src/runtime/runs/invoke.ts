import { canonical, type Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { callKey } from '../../gateway/call.ts'
import { agentVersion } from '../../model/agent.ts'
import type { RunRecord } from '../../model/run.ts'
import { plainName } from '../../runs/agents.ts'
import type { Leg } from '../../storage/tables/runs/legs.ts'
import { rootsAndLast } from '../../storage/tables/runs/revocations.ts'
import { runOfRequest } from '../../storage/tables/runs/runs.ts'
import type { Entered } from '../contract/entry.ts'
import { type Caller, callerOf } from '../identity/caller.ts'
import { rootsFor } from '../loop/authority.ts'
import { compiledData, type Governed } from '../loop/plans/governed.ts'
import { nextVersion } from '../loop/plans/versions.ts'
import { newRecord, openNode, packAgent } from '../loop/record.ts'
import { beginRun } from '../loop/spans.ts'
import { type RunHost, type RunPrivate, RunTree } from '../loop/tree.ts'
import { commitStart, type Started, type StartedBy } from './start.ts'

/** A request that was let in, and compiled. */
export interface Invocation {
  readonly entered: Entered
  readonly governed: Governed
  readonly asked: Asked
}

/** What a request asked for, whole: by it a repeat is told from another request under the same id. */
export interface Asked {
  readonly request: Entered['request']
  readonly run_context?: unknown
}

const keyOf = (caller: Caller, { request }: Asked): string =>
  callKey(callerOf(caller).name, 'invoke', request.request_id)

const fingerprintOf = (asked: Asked): string => sha256(canonical(JSON.parse(JSON.stringify(asked)) as Json))

export async function findInvoked({ deps }: RunHost, caller: Caller, asked: Asked): Promise<RunRecord | undefined> {
  const found = await deps.store.read(() => runOfRequest<RunPrivate>(deps.tenant, keyOf(caller, asked)))
  if (found === undefined || found.private.fingerprint === fingerprintOf(asked)) return found?.record
  const { request_id } = asked.request
  const help = 'use a new request_id'
  throw new Failure(
    'request.id_conflict',
    `request id ${quote(request_id)} was used for another run`,
    { request_id },
    help,
  )
}

/** Starts the run of a request with its compile and the first version of its record, in one transaction. */
export async function startInvoked(
  host: RunHost,
  caller: Caller,
  invocation: Invocation,
  by: StartedBy,
): Promise<Started> {
  try {
    return await open(host, caller, invocation, by)
  } catch (error) {
    const isClash = error instanceof Failure && error.code === 'event.conflict'
    const known = isClash ? await findInvoked(host, caller, invocation.asked) : undefined
    if (known === undefined) throw error
    return { record: known }
  }
}

async function open(
  host: RunHost,
  caller: Caller,
  invocation: Invocation,
  { served = false, place }: StartedBy,
): Promise<Started> {
  const { deps } = host
  const { entered, governed, asked } = invocation
  const { context, request, planner } = entered
  const { roots: own, last } = await deps.store.read(() => rootsAndLast(deps.tenant))
  const { run_budget, metadata } = context
  const { run_id: runId, trace_id, safety_mode } = context
  const kept: RunPrivate = {
    ...{ caller: callerOf(caller), activeMs: 0, revocationsSeen: last, roots: rootsFor(deps.tenant, own, !served) },
    limits: {
      ...{ calls: run_budget.max_tool_calls, activeMs: run_budget.wall_clock_ms },
      ...{ costCents: run_budget.max_cost_cents, isCostAsked: request.runtime.max_cost_cents !== undefined },
    },
    ...{ fenceSeed: governed.facts.fence_seed, toolContext: {}, fingerprint: fingerprintOf(asked) },
    invoked: { request, context, ...(planner !== undefined && { planner }) },
  }
  const name = agentNameOf(context.agent.agent_urn)
  const span = beginRun({ agent_id: name.agent_id, run_id: runId, depth: 0 }, place)
  const record: RunRecord = {
    ...newRecord(host, packAgent(name), {
      ...{ run_id: runId, root_run_id: runId, subject: caller.subject, trace_id, safety_mode },
      ...{ request_id: request.request_id, session_id: request.session_id ?? null, context_ids: [] },
      ...{ grants: metadata.ambit.grants, input: request.input as Json },
    }),
    ...{ mode: request.mode, intent: request.input.intent, surface: surfaceOf(governed), compiled: reportOf(governed) },
  }
  const leg: Leg = { runId, owner: deps.owner, fence: 1, wakes: 0 }
  const tree = new RunTree(host, leg, { runs: [{ record, private: kept }], events: [] })
  tree.governed = governed
  const root = openNode(tree, record, undefined, span)
  const version = await nextVersion(root, governed, 'IN_FLIGHT')
  root.record = { ...root.record, decision: version.decision }
  await commitStart(
    tree,
    { record: root.record, private: kept },
    {
      ...{ requestKey: keyOf(caller, asked), version },
      noting: () =>
        tree.journal.note(runId, 'compile.done', compiledData(governed), {
          body: governed.body,
          paths: metadata.ambit.grants.map(({ path }) => path),
        }),
    },
  )
  return { record: root.record, root }
}

/** The agent of a request by its name and version. */
export function agentNameOf(urn: string): Pick<RunRecord, 'agent_id' | 'agent_version'> {
  const [, slug = 'agent', version = '0.0.0'] = /\/([^@]+)@(.+)$/.exec(urn) ?? []
  return { agent_id: slug, agent_version: agentVersion.safeParse(version).success ? version : '0.0.0' }
}

const surfaceOf = ({ compiled: { context_ledger } }: Governed): RunRecord['surface'] => ({
  tools: context_ledger.tools.map(plainName),
  hidden: context_ledger.ambit.hidden.map(({ capability_id, reason }) => ({ tool: plainName(capability_id), reason })),
})

function reportOf(governed: Governed): RunRecord['compiled'] {
  const { budget_report, context_ledger } = governed.compiled
  const { refs, content_hash, omissions } = context_ledger.ambit
  const { compiled_context_hash } = context_ledger
  return { refs, facts_hash: governed.factsHash, content_hash, compiled_context_hash, budget_report, omissions }
}
