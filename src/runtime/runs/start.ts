import { randomBytes } from 'node:crypto'
import { canonical, type Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { TraceParent } from '../../base/trace.ts'
import { copyEvent } from '../../evidence/copy.ts'
import { callKey } from '../../gateway/call.ts'
import { type GrantRequest, parseGrants } from '../../grants/list.ts'
import { mintGrants } from '../../grants/mint.ts'
import type { Grant } from '../../model/grant.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunRequest } from '../../model/requests.ts'
import type { RunRecord } from '../../model/run.ts'
import { keyScope } from '../../policy/gates/checks.ts'
import { agentToolId } from '../../runs/agents.ts'
import { addLeg, type Leg } from '../../storage/tables/runs/legs.ts'
import { rootsAndLast } from '../../storage/tables/runs/revocations.ts'
import { addRun, runInSession, runOfRequest, type StoredRun } from '../../storage/tables/runs/runs.ts'
import { type Caller, callerOf } from '../identity/caller.ts'
import { rootsFor } from '../loop/authority.ts'
import { demandFree, readNames } from '../loop/conversation.ts'
import type { Version } from '../loop/plans/versions.ts'
import { agentFor, newRecord, openNode, startedData, startedEvent } from '../loop/record.ts'
import { demandResources } from '../loop/resource.ts'
import { beginRun } from '../loop/spans.ts'
import { type RunHost, type RunNode, type RunPrivate, RunTree } from '../loop/tree.ts'

export interface Started {
  readonly record: RunRecord
  /** Missing for a run that an earlier request with the same id has started. */
  readonly root?: RunNode
}

/** How a run was asked for. */
export interface StartedBy {
  /** Whether the caller came through a server: then only the roots of the tenant hold grants. */
  readonly served?: boolean
  /** The place in a trace that the request came from. */
  readonly place?: TraceParent
}

/** Opens a root run: its grants first, then all else that can be wrong with it. A refusal has touched nothing. */
export async function startRun(host: RunHost, caller: Caller, request: RunRequest, by: StartedBy): Promise<Started> {
  const requests = wantedGrants(caller, request)
  const facts = await readFacts(host, request, by)
  const opening = { ...by, ...facts, grants: mint(host, caller, requests, facts) }
  for (let attempt = 0; ; attempt++) {
    const known = await findRequest(host, caller, request)
    if (known !== undefined) return { record: known }
    try {
      return await open(host, caller, request, opening)
    } catch (error) {
      // Another process has taken the id of the run, or the same request came twice.
      if (!(error instanceof Failure && error.code === 'event.conflict') || attempt === 4) throw error
    }
  }
}

function wantedGrants({ rights }: Caller, { context }: RunRequest): readonly GrantRequest[] {
  if (context === undefined) return []
  if (!rights.includes('mint')) {
    const help = 'use a key of a principal with the role `grantor`, or run it without grants'
    throw new Failure('grant.not_mintable', 'this credential cannot set grants', {}, help)
  }
  return parseGrants(context)
}

/** The run that an equal request of the same caller has started. One that differs is refused. */
async function findRequest({ deps }: RunHost, caller: Caller, request: RunRequest): Promise<RunRecord | undefined> {
  const key = requestKeyOf(caller, request)
  if (key === null) return undefined
  const found = await deps.store.read(() => runOfRequest<RunPrivate>(deps.tenant, key))
  if (found === undefined || found.private.fingerprint === fingerprintOf(request)) return found?.record
  const id = request.requestId ?? ''
  throw new Failure(
    'request.conflict',
    `request id ${quote(id)} was used for another run`,
    { id },
    'use a new request id',
  )
}

const requestKeyOf = (caller: Caller, { requestId }: RunRequest): string | null =>
  requestId === undefined ? null : callKey(callerOf(caller).name, requestId)

const fingerprintOf = (request: RunRequest): string => sha256(canonical(request as unknown as Json))

interface Facts {
  readonly roots: RunPrivate['roots']
  /** The number of the last revocation. */
  readonly last: number
  readonly names: Pick<RunRecord, 'session_id' | 'context_ids'>
}

/** What the store knows that a new run depends on, of one moment. */
const readFacts = (
  { deps: { store, tenant } }: RunHost,
  request: RunRequest,
  { served = false }: StartedBy,
): Promise<Facts> =>
  store.read(function* () {
    const { roots: own, last } = yield* rootsAndLast(tenant)
    const names = yield* readNames(tenant, request.agent, request)
    return { roots: rootsFor(tenant, own, !served), last, names }
  })

function mint(
  { deps, agents }: RunHost,
  { subject }: Caller,
  requests: readonly GrantRequest[],
  { roots }: Facts,
): readonly Grant[] {
  return mintGrants(requests, {
    roots,
    protectedBranches: agents().protectedBranches,
    mintedBy: `${subject.type ?? 'subject'}:${subject.id}`,
    basis: [`subject:${subject.id}`, `tenant:${deps.tenant}`],
    ids: requests.map(() => deps.ids.next('gr')),
  })
}

async function open(
  host: RunHost,
  caller: Caller,
  request: RunRequest,
  opening: StartedBy & Facts & { readonly grants: readonly Grant[] },
): Promise<Started> {
  const { deps, agents } = host
  const by = callerOf(caller)
  if (keyScope({ capabilityId: agentToolId(request.agent), scopes: by.scopes }) !== undefined)
    throw new Failure('caller.not_permitted', 'this key is not for that agent')
  const input = copyEvent((request.input ?? null) as Json, 'input', 2)
  const agent = await agentFor(host, request.agent, input)
  const runId = deps.ids.next('run')
  const span = beginRun({ agent_id: request.agent, run_id: runId, depth: 0 }, opening.place)
  const record = newRecord(host, agent, {
    run_id: runId,
    root_run_id: runId,
    subject: caller.subject,
    trace_id: span.place.traceId,
    request_id: request.requestId ?? null,
    ...opening.names,
    grants: [...opening.grants],
    input,
  })
  const kept: RunPrivate = {
    caller: by,
    activeMs: 0,
    revocationsSeen: opening.last,
    roots: opening.roots,
    limits: limitsOf(request, agents().priceOf(agent) !== undefined),
    fenceSeed: randomBytes(16).toString('hex'),
    toolContext: toolContextOf(request),
    fingerprint: fingerprintOf(request),
  }
  const leg: Leg = { runId, owner: deps.owner, fence: 1, wakes: 0 }
  const tree = new RunTree(host, leg, { runs: [{ record, private: kept }], events: [] })
  const root = openNode(tree, record, undefined, span)
  demandResources(root)
  if (agents().priceOf(agent) === undefined && agent.definition.kind === 'llm') {
    const model = quote(agents().modelOf(agent).id)
    const warning = { code: 'cost_unknown', message: `\`prices\` of the configuration has none for ${model}` }
    root.record = { ...root.record, warnings: [warning] }
  }
  await commitStart(tree, { record: root.record, private: kept }, { requestKey: requestKeyOf(caller, request) })
  return { record: root.record, root }
}

const reservedNames = ['grants', 'invoke', 'run', 'signal', 'contextIds']

function toolContextOf({ toolContext = {} }: RunRequest): RunPrivate['toolContext'] {
  const taken = reservedNames.find((name) => Object.hasOwn(toolContext, name))
  if (taken === undefined) return copyEvent(toolContext as RunPrivate['toolContext'], 'toolContext', 2)
  throw new Failure('reserved.name', `${quote(taken)} is reserved`, { pointer: `/toolContext/${taken}` })
}

const defaultCostCents = 25

/** Those of the request, else the defaults. Without a price only a limit of cost that somebody set refuses to start. */
function limitsOf({ limits: wish = {} }: RunRequest, isPriced: boolean): RunPrivate['limits'] {
  if (wish.costCents !== undefined && !isPriced) {
    const help = 'list the price of the model under `prices` in the configuration'
    throw new Failure(
      'run.limit',
      'a limit of cost needs the price of the model',
      { pointer: '/limits/costCents' },
      help,
    )
  }
  return {
    calls: Math.min(wish.calls ?? limits.runCallsMax, limits.runCallsMost),
    activeMs: Math.min(wish.activeMs ?? limits.runActiveMs, limits.runActiveMost),
    costCents: wish.costCents ?? (isPriced ? defaultCostCents : null),
    isCostAsked: wish.costCents !== undefined,
  }
}

interface Beginning {
  readonly requestKey: string | null
  /** Of a run that packs drive: what it was compiled to, and the first version of its record. */
  readonly noting?: () => void
  readonly version?: Version
}

/** Record, leg, first event and evidence in one transaction, unless the session of the run is busy. */
export async function commitStart(
  tree: RunTree,
  run: StoredRun<RunPrivate>,
  { requestKey, noting, version }: Beginning,
): Promise<void> {
  const { run_id: runId, agent_id: agentId, session_id: sessionId } = run.record
  const checkAtMs = tree.host.deps.clock.now() + limits.legCheckMs
  await tree.commit({
    opens: true,
    leaving: (tenant) => addLeg(tenant, tree.journal.leg, checkAtMs),
    ...(sessionId !== null && { asking: (tenant: TenantId) => runInSession(tenant, agentId, sessionId) }),
    noting: ([busy]) => {
      demandFree(run.record, busy)
      tree.journal.note(runId, 'run.started', startedData(run.record))
      noting?.()
    },
    statements: (tenant) => [addRun(tenant, run, requestKey), ...(version ? [version.statement(tenant)] : [])],
    drafts: [tree.draft(run.record, startedEvent(run.record)), ...(version ? [version.draft] : [])],
  })
}
