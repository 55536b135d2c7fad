import { Failure } from '../../base/failure.ts'
import { registerDrift } from '../hosting/drift.ts'
import { registerImport } from '../hosting/import.ts'
import { operationGroup } from '../operation-command.ts'
import { line, type Register } from '../terminal/io.ts'
import { likeOf } from './call-result.ts'
import { printCapabilities, printCard } from './capability-card.ts'

export default ((capabilities, io) => {
  operations(capabilities, io)
  registerImport(capabilities, io)
  registerDrift(capabilities, io)
}) satisfies Register

const operations = operationGroup('capabilities', {
  list: {
    summary: 'what you may call, and what its policy says before you do',
    print: async (io, { capabilities }, { hostId, hasKey }) =>
      printCapabilities(io, await hostId(), capabilities, hasKey ? 'none that this key may call' : noneListed),
  },
  show: {
    summary: 'one capability: lifecycle, policy, context fields; every version of it',
    input: { id: ['capability', 'its id: see `ambit capabilities list`'] },
    perform: (show, { input, ambit }) =>
      show(input).catch(async (error: unknown) => {
        if (!(error instanceof Failure && error.code === 'capability.not_found')) throw error
        throw new Failure(error.code, error.message, error.data, await likeOf(ambit, input.id))
      }),
    print: async (io, { capabilities }, { hostId }) => {
      const host = await hostId()
      for (const [index, each] of capabilities.entries()) {
        if (index > 0) line(io)
        printCard(io, host, each)
      }
    },
  },
})

const noneListed = 'none: list them as `capabilities` in the configuration, see `ambit init`'
