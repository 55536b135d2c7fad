import { canonical, type Json } from '../../../base/canonical.ts'
import { toolsOf } from '../../../gateway/tools/tools.ts'
import type { PlanRequest } from '../../../runs/plan/planner.ts'
import { readProgress } from '../../../runs/plan/progress.ts'
import { summarize } from '../../../runs/plan/summary.ts'
import type { RunNode } from '../tree.ts'
import type { Governed } from './governed.ts'

/** What a planner is told, each member made when it is read: copies, so that nothing it does to them counts. */
export function requestFor({ tree, record, stopping }: RunNode, { compiled, facts }: Governed): PlanRequest {
  const told = () => structuredClone(summarize(readProgress(tree.journal.eventsOf(record.run_id)), tree.seed))
  const ids = new Set(compiled.context_ledger.tools)
  return {
    ...{ intent: facts.request.intent, signal: stopping },
    get compiled() {
      return structuredClone(compiled)
    },
    get tools() {
      return toolText(tree, ids)
    },
    get steps() {
      return told().steps
    },
    get problems() {
      return told().problems
    },
    get progress() {
      return told().progress
    },
  }
}

function toolText({ host, seed }: RunNode['tree'], ids: ReadonlySet<string>): string {
  const offered = host.deps
    .offer()
    .registry.all()
    .map(({ descriptor }) => descriptor)
  return toolsOf(
    offered.filter(({ id }) => ids.has(id)),
    { seed },
  )
    .map(({ capabilityId, description, inputSchema }) =>
      [`${capabilityId}: ${description}`, `arguments: ${canonical(inputSchema as Json)}`].join('\n'),
    )
    .join('\n\n')
}
