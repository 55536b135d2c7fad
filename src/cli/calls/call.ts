import type { Json } from '../../base/canonical.ts'
import type { CallRequest } from '../../model/requests.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import type { Session } from '../ambit.ts'
import { singleOperation } from '../operation-command.ts'
import type { Words } from '../operation-options.ts'
import { found, line, plain } from '../terminal/io.ts'
import { likeOf, printResult } from './call-result.ts'

/** How a call is written, to be made or to be previewed. */
export const callWords = {
  capability: ['capability', 'its id: see `ambit capabilities list`'],
  payload: ['--payload <json>', 'what it is called with: JSON, @file, or - for standard input'],
  context: ['--context <json>', 'facts that are in no payload: JSON, @file, or -'],
  purpose: ['--purpose <text>', 'why the call is made'],
  environment: ['--environment <name>', 'where it is meant to take effect'],
  correlation: ['--correlation <id>', 'the task it belongs to (default: one of its own)'],
} as const satisfies Readonly<Record<string, Words>>

export default singleOperation('call', {
  input: {
    ...callWords,
    id: ['--id <id>', 'the id of this call: the same id never takes effect twice'],
  },
  help: 'Exit 0: it succeeded. 1: it was refused, it failed, or its outcome is unknown. 2: usage or environment.',
  own: (command) => void command.option('--stream', 'show chunks as they come'),
  perform: async (call, { input, options, stream }, io) => {
    const chunks: Json[] = []
    const onChunk = (chunk: Json): void => {
      chunks.push(chunk)
      if (!options.json) line(io, plain(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)))
    }
    const result = options['stream'] ? { ...(await stream(input as CallRequest, onChunk)), chunks } : await call(input)
    if (!result.success) found(io)
    return result
  },
  print: async (io, result, use) => printResult(io, await use.hostId(), result, await adviceOn(result, use)),
})

/** What the caller can do about a refusal, beyond what the host says of it. */
async function adviceOn({ denial, capability_id }: InvocationResult, session: Session): Promise<readonly string[]> {
  if (denial?.code === 'capability_not_found') return [await likeOf(session.ambit, capability_id)]
  if (denial?.details?.['reason'] !== 'entitlement_denied' || session.hasKey) return []
  return ['put the key of a principal that may call it into AMBIT_KEY: `ambit key create <principal>` makes one']
}
