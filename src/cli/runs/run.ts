import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'
import type { operations } from '../../operations/table.ts'
import { operationAt, type View } from '../operation-command.ts'
import { jsonIn, readInput } from '../terminal/files.ts'
import { type Io, jsonText, line, printJson, progress } from '../terminal/io.ts'
import { several } from '../terminal/options.ts'
import { followToEnd } from './follow.ts'
import { printEvent, printRun } from './print-run.ts'

const view: View<typeof operations.runs.start> = {
  summary: 'run an agent, and wait for its end',
  input: {
    agent: ['agent', 'see `ambit agent list`'],
    input: [
      '--input <text>',
      'what it is to work on: a text; JSON that begins with { or [; @file; or - for standard input',
    ],
    context: false,
    sessionId: ['--session <id>', 'the conversation that it goes on with'],
    contextIds: ['--context-id <id>', 'a scratchpad bucket that its prompt shows'],
    toolContext: ['--tool-context <json>', 'facts for agents that are code: JSON, @file, or -'],
    requestId: ['--request-id <id>', 'the same id again starts no second run'],
    limits: ['--limits <json>', 'such as {"calls":10,"activeMs":60000}'],
  },
  own: (command) =>
    void command
      .option(
        '--grant <path>',
        'a namespace path that it may touch; needs the right to mint, may be given several times',
        several,
      )
      .option('--stream', 'print its steps as they happen'),
  follows: true,
  help: 'Exit 0: it completed. 1: it failed, was cancelled or left, or waits for people. 2: usage or environment.',
  complete: async (io, { options, command }) => {
    const grants = options['grant'] as readonly string[] | undefined
    const given = command.getOptionValue('input') as string | undefined
    return {
      ...(given !== undefined && { input: await inputOf(io, given) }),
      ...(grants !== undefined && { context: [...grants] }),
    }
  },
  perform: async (start, { input, options, ambit }, io) => {
    const started = await start(input)
    const show = (event: RunEvent): void => {
      if (options['stream'] !== true) progress(io, `${started.run_id}: ${event.type}`)
      else if (options.json) line(io, jsonText(event))
      else printEvent(io, event)
    }
    return followToEnd(io, ambit.runs, started.run_id, show)
  },
  ownJson: true,
  print: (io, record, { options }) => {
    if (!options.json) return printRun(io, record as RunRecord)
    // After its steps, each on a line, the record is one more line.
    options['stream'] === true ? line(io, jsonText(record)) : printJson(io, record)
  },
}

export default operationAt(['runs', 'start'], view as View)

/** What a run is given, as the command line writes it. */
async function inputOf(io: Io, given: string): Promise<Json> {
  const text = given === '-' ? await io.stdin() : given.startsWith('@') ? String(readInput(io, given.slice(1))) : given
  if (text === undefined) throw new Failure('json.invalid', '--input: nothing is on standard input')
  return /^\s*[{[]/.test(text) ? jsonIn('--input', text) : text.replace(/\n$/, '')
}
