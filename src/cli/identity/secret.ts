import { Failure } from '../../base/failure.ts'
import { operationGroup } from '../operation-command.ts'
import { type Io, line } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

export default operationGroup('secrets', {
  set: {
    summary: 'keep a secret; its value comes from standard input or a hidden prompt, never from the command line',
    input: { value: false },
    // Refused in `complete` and not by the parser, whose refusal would repeat the value.
    own: (command) => void command.allowExcessArguments().allowUnknownOption(),
    complete: async (io, { command: { args } }) => {
      const [name = ''] = args
      if (args.length === 1 && !name.startsWith('-')) return { value: await readValue(io, name) }
      const message = 'a secret on the command line can be seen by others on this machine'
      throw new Failure('secret.invalid', message, {}, pipeIt)
    },
    print: (io, { handle }) => line(io, `kept; use it as \`${handle}\``),
  },
  list: {
    print: (io, { secrets }) =>
      printColumns(io, secrets, 'none yet: `ambit secret set` keeps one', {
        SECRET: ({ name }) => `secret:${name}`,
        SET: ({ created_at }) => created_at,
      }),
  },
  remove: { print: (io, { name }) => line(io, `\`secret:${name}\` is gone`) },
})

/** A line break at the end is the pipe's, not the secret's. */
async function readValue(io: Io, name: string): Promise<string> {
  const piped = await io.stdin()
  const value = piped === undefined ? await io.askHidden(`value of ${name}`) : piped.replace(/\r?\n$/, '')
  if (!value) throw new Failure('secret.invalid', 'no value was given', {}, pipeIt)
  return value
}

const pipeIt = 'pipe it in: `printf %s "$VALUE" | ambit secret set NAME`'
