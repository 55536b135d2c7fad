import type { Json } from '../../../base/canonical.ts'
import { limits } from '../../../base/limits.ts'
import type { RunRecord } from '../../../model/run.ts'
import type { Ending } from '../../../runs/plan/ending.ts'
import { type Move, nextMove } from '../../../runs/plan/next-move.ts'
import { readProgress } from '../../../runs/plan/progress.ts'
import { LegLost, RunEnd } from '../endings.ts'
import type { RunNode } from '../tree.ts'
import { callStep } from './call.ts'
import { type Governed, governedOf, loopFacts, type Stop } from './governed.ts'
import { planMs, propose } from './planners.ts'
import { faultVersion, nextVersion, type Version } from './versions.ts'

/** How a run that context packs drive has ended, with the last version of its record. */
export interface GovernedEnd extends Pick<RunRecord, 'status' | 'result' | 'error'> {
  readonly version: Version
}

/** The loop of a governed run: what comes next follows from its events alone, and is carried out and noted. */
export async function runPlans(node: RunNode): Promise<GovernedEnd> {
  const { tree, record } = node
  const governed = await governedOf(node)
  for (;;) {
    const stop = stopOf(node)
    const progress = readProgress(tree.journal.eventsOf(record.run_id))
    const move = nextMove(progress, loopFacts(node, governed, stop))
    if (move.do === 'end') return endAs(node, governed, move.ending, stop)
    await carryOut(node, governed, move).catch((error: unknown) => {
      // A limit that was met, and what has ended the run meanwhile, are judged like everything else.
      if (error instanceof RunEnd) node.ending.abort(error)
      if (!node.ending.signal.aborted) throw error
    })
  }
}

async function carryOut(node: RunNode, governed: Governed, move: Exclude<Move, { do: 'end' }>): Promise<void> {
  const { journal } = node.tree
  if (move.do === 'plan') await propose(node, governed)
  else if (move.do === 'call') await callStep(node, governed, move)
  else journal.note(node.record.run_id, move.type, move.data as unknown as { [member: string]: Json })
}

/** What has ended the work from outside: a cancel, a limit. A process that leaves its runs says nothing of them. */
function stopOf(node: RunNode): Stop {
  const { tree, ending } = node
  if (tree.leaving.signal.aborted) throw new LegLost()
  if (!ending.signal.aborted) return {}
  const reason: unknown = ending.signal.reason
  if (!(reason instanceof RunEnd) || reason.status === 'cancelled') return { cancelled: true }
  return { hardStop: { cause: reason.code, ...amountsOf(node, reason.code) } }
}

/** The limit that was met, and what was used of it. */
function amountsOf(node: RunNode, cause: string): { readonly limit?: number; readonly used?: number } {
  const { activeMs, costCents } = node.tree.root.limits
  if (cause === 'budget_wall_clock') return { limit: activeMs, used: activeMs }
  if (cause === 'plan_timeout') return { limit: planMs(node), used: planMs(node) }
  if (cause !== 'budget_cost') return {}
  const used = node.tree.usageOf(node.tree.rootId).cost_cents
  return { ...(costCents !== null && { limit: costCents }), ...(used !== null && { used }) }
}

async function endAs(node: RunNode, governed: Governed, ending: Ending, stop: Stop): Promise<GovernedEnd> {
  const { run_status: status, outputs, cause, reasons } = ending
  const message = reasons.join('; ').slice(0, limits.errorCharsMax)
  return {
    ...{ status, result: status === 'completed' ? (outputs as Json) : null },
    error: cause === undefined ? null : { code: cause, message },
    version: await nextVersion(node, governed, ending, stop),
  }
}

type Ended = Pick<RunRecord, 'status' | 'result' | 'error'>

/** A run that packs drive and a fault has ended is handed over to people, as its record says. */
export async function faulted(node: RunNode, ended: Ended): Promise<Ended & Partial<Pick<GovernedEnd, 'version'>>> {
  const version =
    node.record.mode === null ? undefined : await faultVersion(node, ended.error?.code ?? 'runtime_failure')
  return version === undefined ? ended : { ...ended, version }
}
