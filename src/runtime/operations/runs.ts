import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { AgentSummary } from '../../model/requests.ts'
import { isEnded } from '../../model/run.ts'
import { resourcesOf } from '../../runs/definition.ts'
import type { Agent } from '../agents/agent.ts'
import { demandName } from '../identity/caller.ts'
import { forgetMemory, listMemory, readMemory } from '../memory/entries.ts'
import { eraseScope } from '../memory/erase.ts'
import { listRunsFor, runFor, runToControl, watchRun } from '../runs/read.ts'
import { revokeGrants } from '../runs/revoke.ts'
import { type HandlersOf, timeOf } from './context.ts'

export const runHandlers: HandlersOf<'agents' | 'runs' | 'grants' | 'memory'> = {
  agents: {
    list: async ({ host }) => ({ agents: (await host()).runs.agents().all.map(summaryOf) }),
  },
  runs: {
    start: async ({ host, caller, served, place }, request) => {
      demandName(caller)
      return (await host()).runs.start(caller, request, defined({ served, place }))
    },
    list: ({ ambit, caller }, { since, until, grant, limit, cursor, ...filter }) => {
      const times = { since: timeOf(ambit, since, '/since'), until: timeOf(ambit, until, '/until') }
      return listRunsFor(ambit, caller, defined({ ...filter, ...times, grant }), defined({ limit, cursor }))
    },
    show: ({ ambit, caller }, { id }) => runFor(ambit, caller, id),
    events: async (context, { id, since = 0 }) => {
      const { run_id } = await runFor(context.ambit, context.caller, id)
      return watchRun(context, run_id, since)
    },
    cancel: async ({ ambit, caller, host }, { id }) => {
      const record = await runToControl(ambit, caller, id)
      if (!(await (await host()).runs.cancel(record))) throw hasEnded(id)
      return runFor(ambit, caller, id)
    },
    resume: async ({ ambit, caller, host }, { id }) => {
      const record = await runToControl(ambit, caller, id)
      if (isEnded(record.status)) throw hasEnded(id)
      await (await host()).runs.resume(record)
      return runFor(ambit, caller, id)
    },
  },
  grants: {
    revoke: async ({ ambit, caller, host }, wish) => revokeGrants(ambit, caller, (await host()).runs, wish),
  },
  memory: {
    list: (context, { limit, cursor, ...place }) => listMemory(context, place, defined({ limit, cursor })),
    read: readMemory,
    forget: forgetMemory,
    erase: (context, { scope, recursive = false, reason = '' }) => eraseScope(context, { scope, recursive, reason }),
  },
}

const hasEnded = (id: string): Failure => new Failure('run.finished', `run ${quote(id)} has ended`, { id })

function summaryOf({ definition }: Agent): AgentSummary {
  const { manifest } = definition
  const { id, version, kind, description = null } = manifest
  const resources = resourcesOf(definition).map(({ name, kind, mode = 'default' }) => ({ name, kind, mode }))
  const tools = 'tools' in manifest ? [...(manifest.tools ?? [])] : []
  return { id, version, kind, description, tools, resources }
}
