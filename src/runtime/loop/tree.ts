import type { Json } from '../../base/canonical.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import type { CallCaller } from '../../gateway/call.ts'
import type { GatewayDeps } from '../../gateway/deps.ts'
import { draftEvent, writeEvents } from '../../gateway/events.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { RunContext } from '../../model/contract/context.ts'
import type { InvokeRequest } from '../../model/contract/request.ts'
import type { EventDraft } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunEvent, RunRecord, Usage } from '../../model/run.ts'
import { agentToolId } from '../../runs/agents.ts'
import type { Leg } from '../../storage/tables/runs/legs.ts'
import { putRun, type StoredRun } from '../../storage/tables/runs/runs.ts'
import type { SessionWindow } from '../../storage/tables/runs/sessions.ts'
import type { Change, Statement } from '../../storage/work.ts'
import type { Agent } from '../agents/agent.ts'
import type { Agents } from '../agents/agents.ts'
import type { ResolvedAgent } from '../agents/resolve.ts'
import type { Traced } from '../trace.ts'
import { type Authority, openAuthority } from './authority.ts'
import { LegLost } from './endings.ts'
import { type JournalWrite, openJournal, type RunJournal } from './journal.ts'
import type { Governed } from './plans/governed.ts'

/** What the runs of one tenant are driven with. */
export interface RunHost {
  readonly gateway: Gateway
  readonly deps: GatewayDeps
  readonly agents: () => Agents
  /** The caller of a run as its credential stands now; undefined for one that may do nothing any more. */
  readonly callerNow: (kept: CallCaller) => Promise<CallCaller | undefined>
  /** The packs that a request has pinned, held to everything that was true when they were published. */
  readonly loadPacks: (refs: readonly string[]) => Promise<ReadyPacks>
  /** Keeps the host open while a run is driven. */
  readonly hold: () => () => void
  /** Says that events of a tree are on record. */
  readonly wake: (rootId: string) => void
  /** Takes up only what it is asked to resume or cancel: for a process that is over before a run would be. */
  readonly onlyAsked?: boolean | undefined
}

/** What the runtime knows of a run and shows to no caller. Children have what their root has. */
export interface RunPrivate {
  readonly caller: CallCaller
  readonly limits: {
    readonly calls: number
    readonly activeMs: number
    readonly costCents: number | null
    /** Whether the caller named the limit of cost. */
    readonly isCostAsked: boolean
  }
  /** How long it was active before this leg. */
  readonly activeMs: number
  /** The last revocation when its grants were minted. */
  readonly revocationsSeen: number
  readonly roots: readonly string[] | 'unbounded'
  readonly fenceSeed: string
  readonly toolContext: { readonly [member: string]: Json }
  readonly fingerprint: string | null
  /** Of a run that context packs drive. The claim of its agent stays here: records and events have its hash. */
  readonly invoked?: { readonly request: InvokeRequest; readonly context: RunContext; readonly planner?: string }
}

/** One run of a tree, while it is driven. */
export interface RunNode {
  readonly tree: RunTree
  readonly parent: RunNode | undefined
  readonly agent: Agent
  readonly resolved: ResolvedAgent
  readonly ending: AbortController
  /** Aborts when it is to end, and when its process leaves it to another. */
  readonly stopping: AbortSignal
  readonly span: Traced
  /** The conversation that it goes on with, once it is read. */
  session: SessionWindow | undefined
  record: RunRecord
}

interface TreeWrite extends JournalWrite {
  readonly changes?: readonly Change[]
  readonly drafts?: readonly EventDraft[]
  /** Whether the correlation of the tree begins with it. */
  readonly opens?: boolean
}

/** All that is on record of a root run. */
export interface WholeTree {
  readonly runs: readonly StoredRun<RunPrivate>[]
  readonly events: readonly RunEvent[]
}

/** A root run with all below it, driven by this process under one leg. */
export class RunTree {
  readonly host: RunHost
  readonly root: RunPrivate
  readonly rootId: string
  /** The secret of its fences. */
  readonly seed: Uint8Array
  readonly journal: RunJournal
  readonly nodes = new Map<string, RunNode>()
  readonly stored: ReadonlyMap<string, RunRecord>
  readonly deadlineMs: number
  /** Aborts when this process is to leave its runs to others. */
  readonly leaving = new AbortController()
  /** What its runs may touch at any moment, and the calls that rest on it. */
  readonly authority: Authority
  /** Who calls, as the credential stands now. */
  caller: CallCaller
  /** Drives a run of the tree to its end, whichever that is. */
  drive: (node: RunNode) => Promise<void> = () => Promise.reject(new LegLost())
  /** What the run was compiled from and to, where packs drive it. */
  governed: Governed | undefined
  /** Runs that are asked to end. */
  readonly toCancel = new Set<string>()
  private readonly begunMs: number

  constructor(host: RunHost, leg: Leg, { runs, events }: WholeTree) {
    const root = runs.find(({ record }) => record.run_id === leg.runId)
    if (root === undefined) throw new Error('a leg without its run')
    this.host = host
    this.root = root.private
    this.rootId = leg.runId
    this.seed = Buffer.from(root.private.fenceSeed, 'hex')
    this.caller = root.private.caller
    this.stored = new Map(runs.map(({ record }) => [record.run_id, record]))
    this.begunMs = host.deps.clock.now()
    this.deadlineMs = this.begunMs + root.private.limits.activeMs - root.private.activeMs
    this.authority = openAuthority(host.deps, root.private)
    this.journal = openJournal(host, leg, root.record.trace_id, events)
  }

  /** Each run of the tree as it is now: further on than on record where it was opened in this leg. */
  private records(): readonly RunRecord[] {
    const opened = [...this.nodes].map(([id, { record }]) => [id, record] as const)
    return [...new Map([...this.stored, ...opened]).values()]
  }

  private isWithin(runId: string, aboveId: string): boolean {
    if (runId === aboveId) return true
    const above = (this.nodes.get(runId)?.record ?? this.stored.get(runId))?.parent_run_id
    return above != null && this.isWithin(above, aboveId)
  }

  /** The run that a call or place of a parent has started, if it has. */
  childOf({ record: { run_id: parent } }: RunNode, place: string): RunRecord | undefined {
    return this.records().find((each) => each.parent_run_id === parent && each.caused_by === place)
  }

  /** A run and all below it. */
  within(topId: string): readonly RunRecord[] {
    return this.records().filter(({ run_id }) => this.isWithin(run_id, topId))
  }

  /** What a run has used so far, with all below it, as its events say. */
  usageOf(runId: string): Usage {
    const usage = { ...noUsage }
    for (const { run_id } of this.within(runId))
      for (const event of this.journal.eventsOf(run_id)) addUsage(usage, event)
    return usage
  }

  /** The approvals that a run waits for, with all below it. */
  waitsFor(runId: string): string[] {
    return this.within(runId).flatMap(({ run_id }) => [...this.journal.waitsOf(run_id).values()])
  }

  activeMs(): number {
    return this.root.activeMs + Math.max(0, this.host.deps.clock.now() - this.begunMs)
  }

  /** Writes events of the tree with a change and evidence, in one transaction. */
  async commit({ changes = [], drafts = [], opens, ...write }: TreeWrite): Promise<void> {
    const written = this.journal.write(write)
    await writeEvents(this.host.deps, drafts, [written.change, ...changes], opens ? this.rootId : undefined)
    written.done()
  }

  /** The statement that keeps a run as it is now. */
  put(tenant: TenantId, record: RunRecord): Statement {
    const kept = record.parent_run_id === null ? { ...this.root, activeMs: this.activeMs() } : {}
    return putRun(tenant, { record, private: kept })
  }

  /** An event about a run in the evidence of its tree. */
  draft(record: RunRecord, event: Pick<EventDraft, 'event_type' | 'outcome' | 'payload'>): EventDraft {
    return draftEvent(this.host.deps, {
      invocation_id: record.run_id,
      capability_id: agentToolId(record.agent_id),
      capability_version: record.agent_version,
      subject: record.subject,
      ...originOf(record),
      ...event,
    })
  }
}

export const agentUrnOf = ({ agent_id, agent_version }: RunRecord): string =>
  `agent:contextos/${agent_id}@${agent_version}`

/** Who acts, and to what it belongs: all calls and events of a tree are one correlation. */
export const originOf = (record: RunRecord) => ({
  actor: { id: agentUrnOf(record), type: 'agent' as const },
  correlation: {
    correlation_id: record.root_run_id,
    trace_id: record.trace_id,
    ...(record.caused_by !== null && { causation_id: record.caused_by }),
  },
})

export const noUsage = {
  tool_calls: 0,
  model_turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_cents: 0 as number | null,
}

const microPerCent = 1_000_000
/** Whole micro-cents as cents. They are added as what they are: sums of fractions drift. */
export const centsOf = (micro: number): number => micro / microPerCent
const microOf = (cents: number): number => Math.round(cents * microPerCent)

type TurnUsage = Pick<Usage, 'input_tokens' | 'output_tokens' | 'cost_cents'>

/** Counts what an event says was used. A turn without a price makes the cost unknown from then on. */
function addUsage(usage: typeof noUsage, { type, data }: RunEvent): void {
  if (type === 'tool.started') usage.tool_calls++
  if (type !== 'plan.proposed') return
  const {
    model_turns = 1,
    input_tokens,
    output_tokens,
    cost_cents,
  } = data['used'] as unknown as Partial<Usage> & TurnUsage
  usage.model_turns += model_turns
  usage.input_tokens += input_tokens
  usage.output_tokens += output_tokens
  const before = usage.cost_cents
  usage.cost_cents = before === null || cost_cents === null ? null : centsOf(microOf(before) + microOf(cost_cents))
}
