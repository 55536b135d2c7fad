import { Option } from 'commander'
import type { Json } from '../../base/canonical.ts'
import { defined } from '../../base/object.ts'
import { environment } from '../../model/wire/correlation.ts'
import type { ReceivedEnvelope } from '../../model/wire/invocation.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import { atDoor, type Door, type DoorOptions, keyOf, withDoor } from '../door.ts'
import { objectInput } from '../terminal/files.ts'
import { found, type Io, line, plain, printJson, type Register } from '../terminal/io.ts'
import { printResult } from './call-result.ts'
import { likeOf } from './capability-like.ts'

interface CallOptions extends DoorOptions {
  readonly payload?: string
  readonly context?: string
  readonly purpose?: string
  readonly environment?: (typeof environment.options)[number]
  readonly id?: string
  readonly correlation?: string
  readonly stream?: boolean
}

const register: Register = (command, io) => {
  withDoor(command)
    .argument('<capability>', 'its id: see `ambit capabilities list`')
    .option('--payload <json>', 'what it is called with: JSON, @file, or - for standard input')
    .option('--context <json>', 'facts that are in no payload: JSON, @file, or -')
    .option('--purpose <text>', 'why the call is made')
    .addOption(new Option('--environment <name>', 'where it is meant to take effect').choices(environment.options))
    .option('--id <id>', 'the id of this call: the same id never takes effect twice')
    .option('--correlation <id>', 'the task it belongs to (default: one of its own)')
    .option('--stream', 'show chunks as they come')
    .addHelpText(
      'after',
      '\nExit 0: it succeeded. 1: it was refused, failed, or nobody knows. 2: usage or environment.',
    )
    .action((capability: string, options: CallOptions) =>
      atDoor(io, options, async (door) => {
        const envelope = await envelopeOf(io, capability, options)
        const chunks: Json[] = []
        const result = await door.invoke(envelope, (chunk) => {
          chunks.push(chunk)
          if (!options.json) line(io, plain(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)))
        })
        if (options.json) printJson(io, options.stream ? { ...result, chunks } : result)
        else printResult(io, door.hostId, result, await adviceOn(io, door, result, options))
        if (!result.success) found(io)
      }),
    )
}
export default register

/** What the caller can do about a refusal, beyond what the host says of it. */
async function adviceOn(
  io: Io,
  door: Door,
  { denial, capability_id }: InvocationResult,
  options: CallOptions,
): Promise<readonly string[]> {
  if (denial?.code === 'capability_not_found') return [await likeOf(door, capability_id)]
  if (denial?.details?.['reason'] !== 'entitlement_denied' || keyOf(io, options) !== undefined) return []
  return ['put the key of somebody who may into AMBIT_KEY: `ambit key create <principal>` makes one']
}

async function envelopeOf(io: Io, capability_id: string, options: CallOptions): Promise<ReceivedEnvelope> {
  const { payload, context, purpose, environment, id, correlation, stream } = options
  const object = (option: string, given: string | undefined) =>
    given === undefined ? undefined : objectInput(io, option, given)
  const metadata = defined({ context: await object('--context', context), purpose })
  const thread = defined({ correlation_id: correlation, environment })
  return defined({
    capability_id,
    payload: await object('--payload', payload),
    invocation_id: id,
    mode: stream ? 'stream' : undefined,
    correlation: Object.keys(thread).length > 0 ? thread : undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  })
}
