import { defined } from '../../base/object.ts'
import type { AgentSummary, RunExplanation } from '../../model/requests.ts'
import type { RunEvent } from '../../model/run.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import { resourcesOf } from '../../runs/definition.ts'
import { eventsOfTree } from '../../storage/tables/runs/runs.ts'
import type { Agent } from '../agents/agent.ts'
import { recordNotFound } from '../contract/decisions.ts'
import { exportRun } from '../evidence/reading.ts'
import { demandName, readerOf } from '../identity/caller.ts'
import { forgetMemory, listMemory, readMemory } from '../memory/entries.ts'
import { eraseScope } from '../memory/erase.ts'
import { hasEnded, listRunsFor, openRunFor, runFor, watchRun } from '../runs/read.ts'
import { revokeGrants } from '../runs/revoke.ts'
import type { HandlersOf, OperationContext } from './context.ts'

export const runHandlers: HandlersOf<'agents' | 'runs' | 'grants' | 'memory'> = {
  agents: {
    list: async ({ host }) => ({ agents: (await host()).runs.agents().all.map(summaryOf) }),
  },
  runs: {
    start: async ({ host, caller, served, place }, request) => {
      demandName(caller)
      return (await host()).runs.start(caller, request, defined({ served, place }))
    },
    list: listRunsFor,
    show: (context, { id }) => runFor(context, id),
    events: async (context, { id, since = 0 }) => watchRun(context, await runFor(context, id), since),
    explain: (context, { id }) => explainRun(context, id),
    export: async (context, { id }) => {
      const { root_run_id, decision } = await runFor(context, id)
      if (decision === null) throw recordNotFound(id)
      return exportRun(context.ambit, readerOf(context.caller), root_run_id)
    },
    cancel: async (context, { id }) => {
      const record = await openRunFor(context, id)
      if (!(await (await context.host()).runs.cancel(record))) throw hasEnded(id)
      return runFor(context, id)
    },
    resume: async (context, { id }) => {
      const record = await openRunFor(context, id)
      await (await context.host()).runs.resume(record)
      return runFor(context, id)
    },
  },
  grants: {
    revoke: revokeGrants,
  },
  memory: {
    list: listMemory,
    read: readMemory,
    forget: forgetMemory,
    erase: (context, { scope, recursive = false, reason = '' }) => eraseScope(context, { scope, recursive, reason }),
  },
}

function summaryOf({ definition }: Agent): AgentSummary {
  const { manifest } = definition
  const { id, version, kind, description = null } = manifest
  const resources = resourcesOf(definition).map(({ name, kind, mode = 'default' }) => ({ name, kind, mode }))
  const tools = 'tools' in manifest ? [...(manifest.tools ?? [])] : []
  return { id, version, kind, description, tools, resources }
}

/** Why a run was given no more than it was: its record and its own events say it, and nothing is worked out anew. */
async function explainRun(context: OperationContext, id: string): Promise<RunExplanation> {
  const { run_id, root_run_id, agent_id, agent_version, status, error, surface, warnings } = await runFor(context, id)
  const events = await context.ambit.store.read(() => eventsOfTree(context.caller.tenant, root_run_id))
  return {
    ...{ run_id, agent: `${agent_id}@${agent_version}`, status, error },
    hidden: [...surface.hidden],
    dropped: [...warnings],
    refused: events.filter((event) => event.run_id === run_id).flatMap(refusalIn),
  }
}

function refusalIn({ type, data }: RunEvent): RunExplanation['refused'] {
  if (type !== 'tool.finished') return []
  const { call_id, tool, status, error } = data as unknown as ToolAnswer & { call_id: string; tool: string }
  if (error === null) return []
  const { code, message, rule_id = null } = error
  return [{ call_id, tool, status, code, message, rule: rule_id }]
}
