import { Option } from 'commander'
import { asCurl, asTypeScript, buildEnvelope } from '../../compile/envelope.ts'
import { tiers } from '../../model/contract/context.ts'
import { runMode } from '../../model/contract/request.ts'
import { line, paint, plain, printJson, type Register } from '../terminal/io.ts'

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
    .option('--url <address>', 'the server that curl asks', 'http://127.0.0.1:4770')
    .option('--json', 'the same as --as json')
    .action((given: Record<string, string>) => {
      const { mode, safety, tenant = '', pack = '', intent = '', message = '', url = '' } = given
      const built = buildEnvelope({
        ...{ mode: runMode.parse(mode), safety_mode: tiers.find((tier) => tier === safety) ?? 'read_only' },
        ...{ tenant_id: tenant, pack_ref: pack, intent, message },
      })
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
