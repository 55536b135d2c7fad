import { defined } from '../../base/object.ts'
import type { EndpointOf } from '../../compile/bindings.ts'
import { compile } from '../../compile/compile.ts'
import type { PackRecord } from '../../model/contract/registry.ts'
import { artifactRecords, packRecords } from '../../storage/tables/registry.ts'
import { addArtifact } from '../contract/artifacts.ts'
import { compareRuns } from '../contract/compare.ts'
import { decisionHistory, listDecisions, showDecision } from '../contract/decisions.ts'
import { enter } from '../contract/entry.ts'
import { gatherFacts } from '../contract/gather.ts'
import { invokeAgent } from '../contract/invoke.ts'
import { measure } from '../contract/measure.ts'
import { replayOne } from '../contract/replay.ts'
import { checkPack, endpointsOf, publishPack, signPack } from '../packs/registry.ts'
import { listed } from '../pages.ts'
import type { HandlersOf, OperationContext } from './context.ts'

export const contractHandlers: HandlersOf<'compile' | 'invokeAgent' | 'decisions' | 'replay' | 'packs' | 'artifacts'> =
  {
    invokeAgent,
    decisions: { list: listDecisions, show: showDecision, history: decisionHistory },
    replay: { run: replayOne, compare: compareRuns },
    compile: async (context, { fence_seed, ...asked }) => {
      const entered = await enter(context, asked)
      return compile(entered.ready, await gatherFacts(context, entered, fence_seed), entered.context, measure)
    },
    packs: {
      validate: async (context, { document, beside }) =>
        checkPack(context.ambit, context.caller, document, { beside, ...(await offerOf(context)) }),
      sign: async ({ ambit, caller }, { document }) => ({
        document: (await signPack(ambit, caller, document)) as never,
      }),
      publish: async (context, { document, beside }) =>
        publishPack(context.ambit, context.caller, document, { beside, ...(await offerOf(context)) }),
      list: async ({ ambit, caller }, options) => {
        const { items, ...more } = await ambit.store.read(() => packRecords.list(caller.tenant, defined(options)))
        return { packs: items.map(withoutDocument), ...more }
      },
      show: ({ ambit, caller }, { ref }) => ambit.store.read(() => packRecords.get(caller.tenant, ref)),
    },
    artifacts: {
      add: ({ ambit, caller }, artifact) => addArtifact(ambit, caller, artifact),
      list: async ({ ambit, caller }, page) =>
        listed('artifacts', await ambit.store.read(() => artifactRecords.list(caller.tenant, defined(page)))),
    },
  }

const withoutDocument = ({ document: _, ...rest }: PackRecord): Omit<PackRecord, 'document'> => rest

async function offerOf({ host }: OperationContext): Promise<{ readonly endpointOf: EndpointOf }> {
  const { current } = await host()
  return { endpointOf: endpointsOf(current().registry) }
}
