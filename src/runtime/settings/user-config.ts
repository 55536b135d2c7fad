import { Failure, quote } from '../../base/failure.ts'
import { isObject } from '../../base/object.ts'
import type { Capability } from '../../gateway/capability.ts'
import type { Resolver, SafetyEvaluator } from '../../gateway/deps.ts'
import type { Config } from '../../model/config/config.ts'
import type { Policy } from '../../model/policy.ts'

/** What only code can say: handlers, resolvers, an evaluator. */
export interface ConfigCode {
  readonly capabilities?: readonly Capability[]
  readonly resolvers?: Readonly<Record<string, Resolver>>
  readonly safety?: SafetyEvaluator
}

/** A configuration as `ambit.config.ts` writes it: what JSON can say, and code. */
export type AmbitConfig = Omit<Config, 'host'> &
  Pick<ConfigCode, 'capabilities'> & { readonly host?: Config['host'] & Omit<ConfigCode, 'capabilities'> }

/** The same configuration: for its types alone. */
export const defineConfig = (config: AmbitConfig): AmbitConfig => config

/** The same policy: for its types alone. It is checked when the configuration is read. */
export const definePolicy = (policy: Policy): Policy => policy

/** Parts the code of a configuration, checked, from the JSON, which is checked against its schema. */
export function partConfig(value: unknown): { readonly json: unknown; readonly code: ConfigCode } {
  if (!isObject(value)) return { json: value, code: {} }
  const { capabilities, ...json } = value
  const listed = capabilities === undefined ? {} : { capabilities: checkedCapabilities(capabilities) }
  if (!isObject(json['host'])) return { json, code: listed }
  const { resolvers, safety, ...host } = json['host']
  return {
    json: { ...json, host },
    code: {
      ...listed,
      ...(resolvers !== undefined && { resolvers: checkedResolvers(resolvers) }),
      ...(safety !== undefined && { safety: checkedFunction<SafetyEvaluator>(safety, '/host/safety') }),
    },
  }
}

function checkedCapabilities(value: unknown): readonly Capability[] {
  if (!Array.isArray(value)) throw invalid('/capabilities', 'must be an array')
  for (const [index, item] of value.entries())
    if (!isObject(item) || !isObject(item['descriptor']) || typeof item['handler'] !== 'function')
      throw invalid(`/capabilities/${index}`, 'must be what `defineCapability` answers')
  return value as readonly Capability[]
}

function checkedResolvers(value: unknown): Readonly<Record<string, Resolver>> {
  if (!isObject(value)) throw invalid('/host/resolvers', 'must be an object')
  for (const [name, resolver] of Object.entries(value)) checkedFunction(resolver, `/host/resolvers/${name}`)
  return value as Readonly<Record<string, Resolver>>
}

function checkedFunction<F>(value: unknown, pointer: string): F {
  if (typeof value !== 'function') throw invalid(pointer, 'must be a function')
  return value as F
}

const invalid = (pointer: string, why: string): Failure =>
  new Failure('field.invalid', `configuration: ${quote(pointer)} ${why}`, { pointer })
