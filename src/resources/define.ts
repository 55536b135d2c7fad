import { Failure, quote } from '../base/failure.ts'
import { isObject } from '../base/object.ts'
import { type ReadSchema, readSchema } from '../gateway/schema-like.ts'
import type { ResourceMode } from '../grants/ceilings.ts'
import { parseAs } from '../model/parse.ts'
import { providerSpec } from '../model/provider.ts'
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
  const { config, tools, reads, writes, ...rest } = parseAs(providerSpec, spec, 'provider') as unknown as Read
  const defined = Object.entries(tools).map(([name, tool]) => {
    const input = readSchema(tool.input, `tools/${name}/input`)
    return [name, Object.freeze({ ...tool, input })]
  })
  return Object.freeze({
    ...rest,
    ...{
      reads: Object.freeze(reads),
      writes: Object.freeze(writes),
      tools: Object.freeze(Object.fromEntries(defined)),
    },
    ...(config && { config: readSchema(config, 'config') }),
  })
}

type Read = ProviderSpec & Pick<Provider, 'defaultMode' | 'writes'>

/**
 * The config that a manifest gives a resource, as the provider's schema hands it on: the members of `config`, and all keys
 * of the entry that are not ours. What the schema refuses is `manifest.invalid`.
 */
export async function readConfig(
  { kind, config }: Provider,
  given: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { config: inner = {}, ...others } = given
  const value = isObject(inner) ? { ...others, ...inner } : given
  const [key] = Object.keys(value)
  const noSchema = () => ({ issues: key === undefined ? undefined : [{ path: [key], message: 'is not known' }], value })
  const read = await (config?.validate ?? noSchema)(value)
  if (read.issues === undefined) return read.value
  const { path = [], message = 'is not valid' } = read.issues[0] ?? {}
  const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  throw new Failure('manifest.invalid', `resource of kind ${quote(kind)}: ${quote(place)} ${quote(message)}`, { kind })
}
