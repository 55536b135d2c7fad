import { randomBytes } from 'node:crypto'
import { Option } from 'commander'
import { defined } from '../../base/object.ts'
import { asCurl, asTypeScript, type BuiltEnvelope, buildEnvelope } from '../../compile/envelope.ts'
import { tiers } from '../../model/contract/context.ts'
import { runMode } from '../../model/contract/request.ts'
import { operations } from '../../operations/table.ts'
import { atAmbit } from '../ambit.ts'
import { followed, streamed, streamHelp } from '../runs/invoke.ts'
import { type Io, line, paint, plain, printJson, type Register } from '../terminal/io.ts'

/** The builder: a request for a mode and a tier, and what follows from them. */
const register: Register = (command, io) => {
  command
    .addOption(new Option('--mode <mode>', 'how the run answers').choices(runMode.options).default('batch'))
    .addOption(
      new Option('--safety <tier>', 'the highest tier that runs without people').choices(tiers).default('read_only'),
    )
    .option('--tenant <id>', 'the tenant', 'local')
    .option('--pack <ref>', 'the pack that it names', 'ctxpack.desk@1.0.0')
    .option('--intent <id>', 'the intent that it names', 'desk.ask')
    .option('--message <text>', 'what is asked', 'What do we know?')
    .addOption(new Option('--as <form>', 'how to write it').choices(['text', 'json', 'curl', 'ts']).default('text'))
    .option('--send', 'send it, under a request id of its own, and follow its run to its decision')
    .option('--stream', `with --send: ${streamHelp}`)
    .option('--url <address>', 'for curl and --send: a host that is being served (default: to send, the store here)')
    .option('--key <key>', 'the API key to send it with (default: AMBIT_KEY)')
    .option('--config <file>', 'configuration file to send it with (default: ambit.config.ts or .json here)')
    .option('--json', 'the same as --as json')
    .action(async (given: Record<string, string>) => {
      const { mode, safety, tenant = '', pack = '', intent = '', message = '', url = 'http://127.0.0.1:4770' } = given
      const built = buildEnvelope({
        ...{ mode: runMode.parse(mode), safety_mode: tiers.find((tier) => tier === safety) ?? 'read_only' },
        ...{ tenant_id: tenant, pack_ref: pack, intent, message },
      })
      if (given['send']) return send(io, built, given)
      if (given['json'] || given['as'] === 'json')
        return printJson(io, {
          request: built.envelope,
          run_context: built.run_context,
          implications: built.implications,
        })
      if (given['as'] === 'curl') return line(io, asCurl(built, url))
      if (given['as'] === 'ts') return line(io, asTypeScript(built))
      line(io, paint(io, 'bold', `mode ${plain(String(mode))}, safety mode ${plain(String(safety))}`))
      for (const each of built.implications) line(io, `  ${each}`)
      printJson(io, { request: built.envelope, run_context: built.run_context })
    })
}
export default register

/** Sends what was built to the store here or to a host, each time as a request of its own. */
function send(io: Io, { envelope, run_context }: BuiltEnvelope, options: Record<string, string>): Promise<void> {
  const [request_id, trace_id, span_id] = [8, 16, 8].map((bytes) => randomBytes(bytes).toString('hex'))
  const trace = { ...envelope.trace, trace_id: trace_id ?? '', span_id: span_id ?? '' }
  const asked = streamed({ request: { ...envelope, request_id: `req_${request_id}`, trace }, run_context }, options)
  const { url, key, config, tenant } = options
  const place = defined({ url, key, config, tenant: url === undefined ? tenant : undefined })
  return atAmbit(
    io,
    place,
    { path: ['invokeAgent'], operation: operations.invokeAgent, follows: true },
    async ({ ambit }) => {
      const started = await ambit.invokeAgent(asked.request, { run_context })
      await followed(io, started, { options, ambit })
    },
  )
}
