import type { z } from 'zod'
import { defined } from '../base/object.ts'
import type { SchemaName, SchemaOf } from '../model/schemas.ts'

/** What a caller needs: any credential, the power to decide about approvals, to read all evidence, to mint grants, or to administer. */
export type OperationRight = 'call' | 'decide' | 'audit' | 'mint' | 'administer' | 'public'

/** One operation as data: what it is called and takes, never how it is done. Shapes are named, so a browser can import it. */
export interface Operation<
  I extends SchemaName = SchemaName,
  O extends SchemaName = SchemaName,
  P extends readonly string[] = readonly string[],
  S extends boolean = boolean,
> {
  readonly right: OperationRight
  readonly route: `${'GET' | 'POST'} /v1/${string}`
  readonly input: I
  /** Of a stream: one item of it. */
  readonly output: O
  /** Members of the input that a call gives by position, in order. */
  readonly args: P
  readonly stream: S
  /** What it does, where the description of its input (`POST`) or output (`GET`) does not say it. */
  readonly summary?: string
  /** Of a stream whose items are numbered: the member that has the number, from which a reader goes on. */
  readonly resumes?: string
  /** The member of the output that ends the address of what was made. */
  readonly creates?: string
}

type Route = Operation['route']
type InPath<R extends string> = R extends `${string}:${infer Name}/${infer Rest}`
  ? readonly [Name, ...InPath<Rest>]
  : R extends `${string}:${infer Name}`
    ? readonly [Name]
    : readonly []
type Members<I extends SchemaName> = readonly (keyof Input<I> & string)[]

/** An operation by the schemas of its input and output. The members in its path are its `args` unless it names others. */
export function operation<
  const R extends Route,
  I extends SchemaName,
  O extends SchemaName,
  const P extends Members<I> = Extract<InPath<R>, Members<I>>,
  S extends boolean = false,
>(
  right: OperationRight,
  route: R,
  input: I,
  output: O,
  given: Pick<Operation, 'summary'> & {
    readonly args?: P
    readonly stream?: S
    readonly resumes?: keyof Output<O> & string
    readonly creates?: keyof Output<O> & string
  } = {},
): Operation<I, O, P, S> {
  const { args = routeOf({ route }).inPath as unknown as P, stream = false as S, ...rest } = given
  return { right, route, input, output, args, stream, ...rest }
}

/** Operations by name, in groups. */
export interface Operations {
  readonly [name: string]: Operation | Operations
}

type Input<I extends SchemaName> = z.input<SchemaOf<I>>
type Output<O extends SchemaName> = z.output<SchemaOf<O>>
/** What an operation is given, and what it answers. */
export type InputOf<Op extends Operation> = Input<Op['input']>
export type OutputOf<Op extends Operation> = Output<Op['output']>

type Positional<I, P extends readonly string[]> = { -readonly [K in keyof P]: P[K] extends keyof I ? I[P[K]] : never }
type Rest<I, P extends readonly string[]> = Omit<I, P[number]>
type Params<I, P extends readonly string[]> =
  Record<never, never> extends Rest<I, P>
    ? [...Positional<I, P>, options?: Rest<I, P>]
    : [...Positional<I, P>, options: Rest<I, P>]
type Answer<O extends SchemaName, S> = S extends true ? AsyncIterable<Output<O>> : Promise<Output<O>>

/** The methods that a table of operations gives, in this process and over HTTP alike. */
export type Api<T> = {
  readonly [K in keyof T]: T[K] extends Operation<infer I, infer O, infer P, infer S>
    ? (...args: Params<Input<I>, P>) => Answer<O, S>
    : Api<T[K]>
}

/** The functions that carry the operations of a table out. */
export type Handlers<T, Context> = {
  readonly [K in keyof T]: T[K] extends Operation<infer I, infer O, infer _P, infer S>
    ? (context: Context, input: z.output<SchemaOf<I>>) => Answer<O, S> | Promise<Answer<O, S>>
    : Handlers<T[K], Context>
}

const isOperation = (entry: Operation | Operations): entry is Operation =>
  typeof (entry as Operation).route === 'string'

/** Every operation of a table, with its path of names. */
export function* walkOperations(
  table: Operations,
  path: readonly string[] = [],
): Generator<readonly [path: readonly string[], operation: Operation]> {
  for (const [name, entry] of Object.entries(table)) {
    if (isOperation(entry)) yield [[...path, name], entry]
    else yield* walkOperations(entry, [...path, name])
  }
}

/** Carries one operation out: in this process, or by sending it somewhere. */
export type Perform = (
  path: readonly string[],
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
) => unknown

/** The object with a method for each operation. */
export function makeApi<const T extends Operations>(table: T, perform: Perform, path: readonly string[] = []): Api<T> {
  const methods = Object.entries(table).map(([name, entry]) => {
    const at = [...path, name]
    if (!isOperation(entry)) return [name, makeApi(entry, perform, at)] as const
    const method = (...given: unknown[]) => {
      const named = entry.args.map((member, index) => [member, given[index]] as const)
      const rest = given[entry.args.length] as object | undefined
      return perform(at, entry, defined({ ...rest, ...Object.fromEntries(named) }))
    }
    return [name, method] as const
  })
  return Object.fromEntries(methods) as Api<T>
}

/** What stands at a path of names in a table of operations, or in a tree that was made from one. */
export const entryAt = <T>(tree: unknown, path: readonly string[]): T =>
  path.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], tree) as T

/** Calls the method of one operation with its whole input. */
export function performOn(
  api: object,
  path: readonly string[],
  { args }: Operation,
  input: Readonly<Record<string, unknown>>,
): unknown {
  const rest = Object.entries(input).filter(([name]) => !args.includes(name))
  const method = entryAt<(...given: unknown[]) => unknown>(api, path)
  return method(...args.map((name) => input[name]), Object.fromEntries(rest))
}

/** Method and path of an operation, and the members of its input that stand in the path. */
export function routeOf({ route }: Pick<Operation, 'route'>): {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly inPath: readonly string[]
} {
  const [method, path = ''] = route.split(' ') as ['GET' | 'POST', string]
  return { method, path, inPath: [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name) }
}
