import { Failure, shown } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import { outputDigest } from '../../evidence/digests.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { isEnded, type RunEvent, type RunRecord } from '../../model/run.ts'
import { endLeg, pauseLeg } from '../../storage/tables/runs/legs.ts'
import { runCode } from './code.ts'
import { endOfConversation } from './conversation.ts'
import { LegLost, Paused, RunEnd } from './endings.ts'
import { runModel } from './llm.ts'
import { faulted, type GovernedEnd, runPlans } from './plans/loop.ts'
import { nextVersion } from './plans/versions.ts'
import { checkOutput } from './record.ts'
import { demandResources } from './resource.ts'
import { endRun } from './spans.ts'
import { runSteps } from './steps.ts'
import type { RunNode, RunTree } from './tree.ts'

/** Drives a root run to its end or its next pause, and answers its record. What it throws leaves the leg to be taken again. */
export async function driveTree(root: RunNode): Promise<RunRecord> {
  const { tree } = root
  const over = setTimeout(
    () => root.ending.abort(new RunEnd('budget_wall_clock', 'the active time of the run is over')),
    Math.min(Math.max(0, tree.deadlineMs - tree.host.deps.clock.now()), 2 ** 31 - 1),
  )
  tree.drive = driveRun
  try {
    await driveRun(root)
  } catch (error) {
    if (!(error instanceof Paused)) throw error
    await pause(tree, error)
  } finally {
    clearTimeout(over)
  }
  return root.record
}

/** Drives one run of a tree to its end, whichever that is. */
async function driveRun(node: RunNode): Promise<void> {
  const { kind } = node.agent.definition
  try {
    if (node.record.mode !== null) return await finish(node, await runPlans(node))
    node.stopping.throwIfAborted()
    demandResources(node)
    const body = kind === 'llm' ? runModel : kind === 'tool' ? runCode : runSteps
    const result = await checkOutput(node, await body(node))
    node.stopping.throwIfAborted()
    await finish(node, { status: 'completed', result, error: null })
  } catch (error) {
    if (error instanceof Paused || isLost(error)) throw error
    await finish(node, await faulted(node, endedBy(error)))
  } finally {
    endRun(node)
  }
}

/** Only the store makes a leg stop where it is: another will go on from what is on record. */
const isLost = (error: unknown): boolean =>
  error instanceof Failure
    ? /^(?:store\.|run\.taken$|call\.in_progress$|host\.closed$|event\.conflict$)/.test(error.code)
    : error instanceof LegLost

type Ending = Pick<RunRecord, 'status' | 'result' | 'error'> & Partial<Pick<GovernedEnd, 'version'>>

function endedBy(error: unknown): Ending {
  if (error instanceof RunEnd)
    return { status: error.status, result: null, error: { code: error.code, message: error.message } }
  const { code, message } = isOfModel(error) ? error : shown(error)
  return {
    status: 'failed',
    result: null,
    error: { code: wireCode(code), message: message.slice(0, limits.errorCharsMax) },
  }
}

/** What is wrong with a model is the caller's to know: its words are cleaned where they come from. */
const isOfModel = (error: unknown): error is Failure => error instanceof Failure && error.code.startsWith('model.')

/** Result, conversation, scratchpad and evidence in one transaction; that of a root ends its leg. */
async function finish(node: RunNode, { version, ...ending }: Ending): Promise<void> {
  const { tree, parent } = node
  if (version !== undefined) node.record = { ...node.record, decision: version.decision }
  const ended = endAll(node, ending)
  const changes = ending.status === 'completed' ? endOfConversation(node) : []
  await tree.commit({
    noting: () => {
      for (const proposal of version?.proposals ?? [])
        tree.journal.note(node.record.run_id, 'memory.proposed', proposal as unknown as RunEvent['data'])
      for (const { run_id, status, result, error, usage } of ended)
        tree.journal.note(run_id, 'run.finished', { status, result, error, usage })
    },
    statements: (tenant) => [
      ...ended.map((record) => tree.put(tenant, record)),
      ...(version ? [version.statement(tenant)] : []),
    ],
    changes,
    ...(parent === undefined && { leaving: (tenant: TenantId) => endLeg(tenant, tree.journal.leg) }),
    drafts: [
      ...(version ? [version.draft] : []),
      ...ended.map((record) => tree.draft(record, finishedEvent(tree, record))),
    ],
  })
}

/** The records of a run and of all below it that has not ended, as they end: what is below is cancelled. */
function endAll(node: RunNode, ending: Ending): readonly RunRecord[] {
  const { tree, record } = node
  const ended_at = formatTime(tree.host.deps.clock.now())
  const why = { code: 'run_cancelled', message: 'the run above it has ended' }
  const open = tree.within(record.run_id).filter(({ run_id, status }) => run_id !== record.run_id && !isEnded(status))
  const below = open.map((each): RunRecord => ({ ...each, status: 'cancelled', error: why, waits_for: [], ended_at }))
  const own = { ...record, ...ending, waits_for: [], ended_at, usage: tree.usageOf(record.run_id) }
  for (const each of [...below, own]) {
    const opened = tree.nodes.get(each.run_id)
    if (opened !== undefined) opened.record = each
  }
  return [...below, own]
}

function finishedEvent({ host: { deps } }: RunTree, { run_id, status, error, usage, result }: RunRecord) {
  const cost_cents = usage.cost_cents === null ? null : String(usage.cost_cents)
  const output = result === null ? {} : { output: outputDigest(deps.digest, result) }
  const payload = { run_id, status, code: error?.code ?? null, usage: { ...usage, cost_cents }, ...output }
  return { event_type: 'ambit.run.finished', outcome: status === 'completed' ? 'success' : 'failure', payload } as const
}

async function pause(tree: RunTree, { untilMs }: Paused): Promise<void> {
  const root = tree.nodes.get(tree.rootId)
  const version = root && tree.governed && (await nextVersion(root, tree.governed, 'IN_FLIGHT'))
  const waiting = [...tree.nodes.values()].filter(({ record }) => record.status === 'running')
  for (const node of waiting) {
    const { run_id } = node.record
    const [waits_for, usage] = [tree.waitsFor(run_id), tree.usageOf(run_id)]
    node.record = { ...node.record, status: 'paused', waits_for, usage }
  }
  await tree.commit({
    noting: () => tree.journal.note(tree.rootId, 'run.paused', { waits_for: tree.waitsFor(tree.rootId) }),
    statements: (tenant) => [
      ...waiting.map(({ record }) => tree.put(tenant, record)),
      ...(version ? [version.statement(tenant)] : []),
    ],
    drafts: version ? [version.draft] : [],
    leaving: (tenant) => pauseLeg(tenant, tree.journal.leg, untilMs),
  })
}
