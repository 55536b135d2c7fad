import type { Command } from 'commander'
import { Failure } from '../../base/failure.ts'
import { removeSecret, secretsOf, setSecret } from '../../runtime/identity/secrets.ts'
import { asAdministrator, type CommonOptions, inTenant, withTenant } from '../session.ts'
import { type Io, line, printJson, type Register } from '../terminal/io.ts'
import { printList } from '../terminal/table.ts'

const register: Register = (secret, io) => {
  withTenant(secret.command('set <name>'))
    .description('keep a secret; its value comes from standard input or a hidden prompt, never from the command line')
    // Refused here and not by the parser, whose refusal would repeat the value.
    .allowExcessArguments()
    .allowUnknownOption()
    .action((name: string, options: CommonOptions, { args }: Command) =>
      asAdministrator(io, options, async (ambit, caller) => {
        if (args.length > 1 || name.startsWith('-')) throw notHere()
        await setSecret(ambit, caller, name, await readValue(io, name))
        options.json
          ? printJson(io, { name, handle: `secret:${name}` })
          : line(io, `kept; use it as \`secret:${name}\``)
      }),
    )

  withTenant(secret.command('list'))
    .description('the names of the secrets; never their values')
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        printList(io, options, await secretsOf(ambit, caller), 'none yet: `ambit secret set` keeps one', {
          SECRET: ({ name }) => `secret:${name}`,
          SET: ({ created_at }) => created_at,
        })
      }),
    )

  withTenant(secret.command('remove <name>'))
    .description('forget a secret')
    .action((name: string, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        await removeSecret(ambit, caller, name)
        options.json ? printJson(io, { name, removed: true }) : line(io, `\`secret:${name}\` is gone`)
      }),
    )
}
export default register

/** A line break at the end is the pipe's, not the secret's. */
async function readValue(io: Io, name: string): Promise<string> {
  const piped = await io.stdin()
  const value = piped === undefined ? await io.askHidden(`value of ${name}`) : piped.replace(/\r?\n$/, '')
  if (!value) throw new Failure('secret.invalid', 'no value was given', {}, pipeIt)
  return value
}

const pipeIt = 'pipe it in: `printf %s "$VALUE" | ambit secret set NAME`'

const notHere = (): Failure =>
  new Failure('secret.invalid', 'a secret on the command line can be seen by others on this machine', {}, pipeIt)
