import { defined } from '../../base/object.ts'
import type { AgentSummary } from '../../model/requests.ts'
import { resourcesOf } from '../../runs/definition.ts'
import type { Agent } from '../agents/agent.ts'
import { demandName } from '../identity/caller.ts'
import { forgetMemory, listMemory, readMemory } from '../memory/entries.ts'
import { eraseScope } from '../memory/erase.ts'
import { explainRun } from '../runs/explain.ts'
import { hasEnded, listRunsFor, openRunFor, runFor, watchRun } from '../runs/read.ts'
import { revokeGrants } from '../runs/revoke.ts'
import type { HandlersOf } from './context.ts'

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
