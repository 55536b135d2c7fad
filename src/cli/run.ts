import { Command, CommanderError } from 'commander'
import { Failure, problem } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import { version } from '../base/version.ts'
import { commands } from './commands.ts'
import { hasFindings, type Io, line, paint, plain, printJson } from './terminal/io.ts'

const good = 0
const finding = 1
const usage = 2

/** Runs one command line and answers the exit code: 0 good, 1 a finding or refusal, 2 usage or environment. */
export async function runCli(given: readonly string[], outside: Io): Promise<number> {
  const io = { ...outside }
  const argv = withHelpLast(given)
  const json = argv.includes('--json')
  try {
    const program = rootCommand(io, json)
    const name = argv.find((word) => !word.startsWith('-'))
    for (const [command, { summary, load }] of Object.entries(commands)) {
      const added = program.command(command).description(summary)
      // Only the command that was called is loaded: the others cost nothing.
      if (command !== name) continue
      ;(await load()).default(added, io)
      for (const leaf of leavesOf(added)) if (!goesToHosts(leaf)) leaf.addHelpText('after', localOnly)
    }
    await program.parseAsync([...argv], { from: 'user' })
    return hasFindings(io) ? finding : good
  } catch (error) {
    return report(error, io, json)
  }
}

const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)

/** Takes an address, and a key to go there with. */
const goesToHosts = ({ options }: Command): boolean =>
  ['--url', '--key'].every((name) => options.some(({ long }) => long === name))

const localOnly = '\nWorks on the store and the files of this machine, not at a host behind --url.'

/** `ambit help key create` as `ambit key create --help`: only then is the command loaded that it is about. */
const withHelpLast = (argv: readonly string[]): readonly string[] =>
  argv[0] === 'help' && argv.length > 1 ? [...argv.slice(1), '--help'] : argv

function rootCommand(io: Io, json: boolean): Command {
  return new Command('ambit')
    .description('Governed context for AI agents: what may a run see, what may it do, and can you prove it afterwards.')
    .version(version)
    .configureOutput({ writeOut: io.out, writeErr: json ? () => undefined : io.err })
    .exitOverride()
    .showHelpAfterError('(run with --help to see what is possible)')
    .addHelpText('after', start)
}

const start = `
Start with \`ambit demo\`. Then, in a folder of your own: \`ambit init\`, then \`ambit doctor\`.
Commands act as the principal whose key is in AMBIT_KEY. Without one they may look, and call what is open to everybody.
Exit 0: good. 1: a finding or a refusal. 2: usage or environment.`

function report(error: unknown, io: Io, json: boolean): number {
  if (error instanceof CommanderError) return reportUsage(error, io, json)
  const isOurs = error instanceof Failure
  const body = isOurs ? problem(error) : { ...problem(error), remediation: 'set AMBIT_DEBUG=1 to see the cause' }
  if (!isOurs && io.env['AMBIT_DEBUG'] === '1') io.err(`${stackOf(error)}\n`)
  if (json) printJson(io, body)
  else {
    io.err(`${paint(io, 'red', 'error')}: ${plain(body.detail)} (${body.code})\n`)
    if (body.remediation !== undefined) line({ ...io, out: io.err }, `  ${plain(body.remediation)}`)
  }
  return isOurs && !isUsage(error.code) ? finding : usage
}

/** For people the parser has said it already. */
function reportUsage({ exitCode, code, message }: CommanderError, io: Io, json: boolean): number {
  if (exitCode === 0) return good
  const detail = code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '')
  if (json) printJson(io, problem(new Failure('field.invalid', detail, {}, 'run with --help to see what is possible')))
  return usage
}

const stackOf = (error: unknown): string =>
  (error instanceof Error ? (error.stack ?? error.message) : String(error)).split('\n').map(plain).join('\n')

// What the caller typed, what the configuration lists, or what surrounds us is wrong; all else is an answer.
const isUsage = (code: FailureCode): boolean =>
  /^(field|id|json|number|config|store|cursor|file|answer|reserved)\b/.test(code) ||
  /^(capability|contract|policy|secret|key|grant|args|manifest|template)\.invalid$/.test(code) ||
  /^(grant|scratchpad)\.limit$|^resource\.(unknown_kind|mode_unsupported|tool_conflict)$/.test(code) ||
  ['key.permissions', 'key.locked', 'host.unreachable', 'internal'].includes(code)
