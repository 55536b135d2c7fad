import { z } from 'zod'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isObject } from '../base/object.ts'
import { type ReadSchema, readSchema, type SchemaLike } from '../gateway/schema-like.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import { resourceMode, resourceName } from '../model/agent.ts'
import { parseAs } from '../model/parse.ts'
import { form } from '../model/text.ts'
import type { ProviderSpec, ProviderTool, Reach } from './provider.ts'

/** A provider that passed every check, frozen. */
export interface Provider extends Omit<ProviderSpec, 'defaultMode' | 'writes' | 'config' | 'tools'> {
  readonly defaultMode: ResourceMode
  readonly writes: readonly Reach[]
  readonly config?: ReadSchema
  readonly tools: Readonly<Record<string, DefinedTool>>
}

export interface DefinedTool extends Omit<ProviderTool, 'input' | 'mode'> {
  readonly input: ReadSchema
  readonly mode: ResourceMode
}

/** What stands behind one kind of resource. A spec with anything wrong in it is refused with the place of it. */
export function defineProvider<Config, Inputs>(spec: ProviderSpec<Config, Inputs>): Provider {
  const { config, tools, ...rest } = parseAs(providerSpec, spec, 'provider') as unknown as Read
  const defined = Object.entries(tools).map(([name, tool]) => {
    const input = readSchema(tool.input ?? noArguments, `tools/${name}/input`)
    return [name, Object.freeze({ ...tool, input })]
  })
  return Object.freeze({
    ...rest,
    reads: Object.freeze(rest.reads),
    writes: Object.freeze(rest.writes),
    tools: Object.freeze(Object.fromEntries(defined)),
    ...(config && { config: readSchema(config, 'config') }),
  })
}

type Read = ProviderSpec & Pick<Provider, 'defaultMode' | 'writes'>

// Prefixes of ours, and where legacy buckets are kept.
const reserved = ['ambit', 'workspace', 'context']
const noArguments = z.strictObject({})
const code = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'must be a function')

const toolSpec = z.strictObject({
  description: z.string().min(1).max(limits.toolDescriptionCharsMax),
  input: z.custom<SchemaLike>(isObject, 'must be a schema').optional(),
  mode: resourceMode.default('read'),
  effects: z.array(z.string()).optional(),
  run: code,
})

/** What a provider is made from, as its author writes it. */
const providerSpec = z
  .strictObject({
    kind: resourceName.refine((kind) => !reserved.includes(kind.toLowerCase()), 'must not be a reserved word'),
    defaultMode: resourceMode.default('read'),
    maxMode: resourceMode,
    reads: z.array(z.enum(['up', 'at', 'down'])).min(1),
    writes: z.array(z.enum(['at', 'down'])).default([]),
    config: z
      .custom<object>((value) => isObject(value) && '~standard' in value, 'must be a Standard Schema')
      .optional(),
    tools: z.record(form(/^[a-z][a-z0-9_]{0,31}$/u, 'a small letter, then small letters, digits and _'), toolSpec),
    prompt: code.optional(),
    bucket: z.enum(['evidence', 'memory', 'business', 'session']).optional(),
    erase: code.optional(),
    open: code.optional(),
    close: code.optional(),
  })
  .refine(({ maxMode, defaultMode, writes, tools }) => {
    const modes = [defaultMode, ...Object.values(tools).map(({ mode }) => mode)]
    return maxMode === 'read-write' || (writes.length === 0 && !modes.includes('read-write'))
  }, 'writes, and its `maxMode` is `read`')

/** What a manifest gives a resource as its config, as the provider's schema hands it on, or `manifest.invalid`. */
export async function readConfig({ kind, config }: Provider, given: unknown = {}): Promise<unknown> {
  const value = isObject(given) ? given : { config: given }
  const [key] = Object.keys(value)
  const noSchema = () => ({ issues: key === undefined ? undefined : [{ path: [key], message: 'is not known' }], value })
  const read = await (config?.validate ?? noSchema)(value)
  if (read.issues === undefined) return read.value
  const { path = [], message = 'is not valid' } = read.issues[0] ?? {}
  const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  const where = place === '' ? '' : `${quote(place)} `
  throw new Failure('manifest.invalid', `resource of kind ${quote(kind)}: ${where}${message.slice(0, 200)}`, { kind })
}
