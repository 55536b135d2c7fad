import type { Command } from 'commander'
import { defined } from '../base/object.ts'
import { entryAt, type InputOf, type Operation, type OutputOf, performOn } from '../operations/operation.ts'
import { summaryOf } from '../operations/summary.ts'
import { operations } from '../operations/table.ts'
import { wholeList } from '../runtime/pages.ts'
import { type AmbitOptions, atAmbit, type Session, withAmbit } from './ambit.ts'
import { addInput, type Words } from './operation-options.ts'
import { type Io, jsonText, line, paint, printJson, type Register } from './terminal/io.ts'

/** One use of a command: what was typed, and the Ambit it goes to. */
export interface Use<Op extends Operation = Operation> extends Session {
  readonly command: Command
  readonly options: AmbitOptions & Readonly<Record<string, unknown>>
  readonly input: InputOf<Op>
}

/** What a command says beyond its operation. All of it may be left out: then the answer is printed as JSON. */
export interface View<Op extends Operation = Operation> {
  /** Where its name is not that of the operation. */
  readonly command?: string
  /** In place of the operation's summary. */
  readonly summary?: string
  readonly help?: string
  readonly input?: { readonly [Member in keyof InputOf<Op> & string]?: Words | false }
  /** Members that are the same at each use. */
  readonly fixed?: Partial<InputOf<Op>>
  /** Options that are of the command line alone. */
  own?(command: Command): void
  /** Members that are not typed as options. */
  complete?(io: Io, use: Omit<Use<Op>, 'input'>): Partial<InputOf<Op>> | Promise<Partial<InputOf<Op>>>
  /** True if this use needs the key of an administrator, which every `administer` operation does. */
  administers?(options: Readonly<Record<string, unknown>>): boolean
  /** Whether it follows a stream beside its operation, which a signal is to end. */
  readonly follows?: true
  /** A list that is shown page by page: others are read to their end. */
  readonly paged?: true
  /** In place of carrying the operation out once. */
  perform?(run: (input: InputOf<Op>) => Promise<OutputOf<Op>>, use: Use<Op>, io: Io): Promise<OutputOf<Op>>
  /** Prints the answer for people; with `ownJson` for programs too. */
  print?(io: Io, answer: OutputOf<Op>, use: Use<Op>): void | Promise<void>
  readonly ownJson?: true
  /** What is wrong with its input is said where it goes to, and is on record there. */
  readonly unchecked?: true
}

type Tree = typeof operations
type Views<T> = { readonly [K in keyof T]: T[K] extends Operation ? View<T[K]> | readonly View<T[K]>[] : never }

/** The commands of a group of operations, each of which has its view. */
export const operationGroup =
  <G extends keyof Tree>(group: G, views: Views<Tree[G]>): Register =>
  (parent, io) => {
    for (const [name, some] of Object.entries<View | readonly View[]>(views))
      for (const view of [some].flat()) addOperation(parent.command(view.command ?? name), io, [group, name], view)
  }

/** The command of an operation that is in no group. */
export const singleOperation =
  <N extends 'call' | 'preview' | 'explain' | 'compile' | 'invokeAgent'>(name: N, view: View<Tree[N]>): Register =>
  (command, io) =>
    addOperation(command, io, [name], view as View)

/** A command of its own for an operation of a group. */
export const operationAt =
  (path: readonly string[], view: View): Register =>
  (command, io) =>
    addOperation(command, io, path, view)

function addOperation(command: Command, io: Io, path: readonly string[], view: View): void {
  const operation = entryAt<Operation>(operations, path)
  const unasked = [...Object.keys(view.fixed ?? {}), ...(view.paged ? [] : ['limit', 'cursor'])]
  const input = addInput(command, operation, {
    ...view.input,
    ...Object.fromEntries(unasked.map((name) => [name, false as const])),
  })
  const isOfTenant = path[0] === 'tenants'
  view.own?.(command)
  withAmbit(command, { tenant: !isOfTenant }).description(view.summary ?? asPhrase(summaryOf(operation)))
  if (view.help !== undefined) command.addHelpText('after', `\n${view.help}`)
  command.action(async () => {
    const options: Use['options'] = command.opts()
    const administers = view.administers?.(options) ?? operation.right === 'administer'
    const tenant = isOfTenant ? String(command.processedArgs[0]) : options.tenant
    await atAmbit(
      io,
      defined({ ...options, tenant }),
      { path, operation, administers, follows: view.follows },
      async (session) => {
        const begun = { ...session, command, options }
        const given = Object.assign(await input.read(io), view.fixed, await view.complete?.(io, begun))
        if (!view.unchecked) input.check(given)
        const use: Use = { ...begun, input: given as InputOf<Operation> }
        const once: Run = (wish) => performOn(session.ambit, path, operation, wish) as Promise<Answer>
        if (operation.stream) {
          for await (const item of once(given) as unknown as AsyncIterable<Answer>)
            options.json ? line(io, jsonText(item)) : await view.print?.(io, item, use)
          return
        }
        const run: Run = input.isPaged && !view.paged ? (wish) => wholeAnswer(once, wish) : once
        const answer = await (view.perform ? view.perform((wish) => run(wish as Wish), use, io) : run(given))
        if (view.print === undefined || (options.json && !view.ownJson)) return printJson(io, answer)
        await view.print(io, answer, use)
        // Beside the table, not in it: a table that is piped on stays whole.
        const { next } = answer as { readonly next?: string }
        if (view.paged && next !== undefined) io.err(`${paint(io, 'dim', `more: --cursor ${next}`)}\n`)
      },
    )
  })
}

/** `Adds a person.` as `adds a person`. */
const asPhrase = (summary: string): string => summary.charAt(0).toLowerCase() + summary.slice(1).replace(/\.$/, '')

type Answer = OutputOf<Operation>
type Wish = Readonly<Record<string, unknown>>
type Run = (wish: Wish) => Promise<Answer>

/** All pages of a list as one answer. */
async function wholeAnswer(run: Run, wish: Wish): Promise<Answer> {
  let name = ''
  const items = await wholeList(async (page) => {
    const { next, ...list } = (await run({ ...wish, ...page })) as { readonly next?: string }
    const [listed, items] = Object.entries<unknown[]>(list)[0] ?? ['', []]
    name = listed
    return defined({ items, next })
  })
  return { [name]: items } as unknown as Answer
}
