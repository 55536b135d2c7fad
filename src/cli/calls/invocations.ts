import { operationGroup } from '../operation-command.ts'
import { found } from '../terminal/io.ts'
import { printResult } from './call-result.ts'

export default operationGroup('invocations', {
  show: {
    input: { id: ['invocation-id', 'as the call was given it, or shows it'] },
    print: async (io, result, { hostId }) => {
      printResult(io, await hostId(), result)
      if (!result.success) found(io)
    },
  },
})
