import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { statusOf, wireCode } from '../base/failure-codes.ts'
import type { SchemaLike } from '../gateway/schema-like.ts'
import type { ProviderTool, ResourceToolContext, Touched } from './provider.ts'

/** What a tool answers before it says that it is well, and every scope behind it. */
export interface Found {
  readonly result: { readonly [member: string]: Json }
  readonly scopes: readonly string[]
}

export type Run<In, Context = ResourceToolContext> = (input: In, context: Context) => Promise<Found>

/** A tool that answers as all of ours do. */
export const tool = <In, Config>(
  description: string,
  input: SchemaLike<In>,
  run: Run<In, ResourceToolContext<Config>>,
  more: Pick<ProviderTool, 'mode' | 'effects'> = {},
): ProviderTool<Config, In> => ({
  ...{ description, input, ...more },
  run: (given, context) => answer(context, () => run(given, context)),
})

/** What is found under live grants; without any it fails. That something cannot be had or done is an answer, too. */
async function answer(
  { grants, resourceName }: Pick<ResourceToolContext, 'grants' | 'resourceName'>,
  work: () => Promise<Found>,
): Promise<Touched> {
  if (grants.length === 0)
    throw new Failure('grant.missing', `resource ${quote(resourceName)} needs a grant`, { resource: resourceName })
  try {
    const { result, scopes } = await work()
    return { result: { ok: true, ...result }, scopes }
  } catch (error) {
    const isOwn = error instanceof Failure && /^(?:file|pack|memory)\./.test(error.code) && statusOf[error.code] < 500
    if (!isOwn) throw error
    const { code, message, help } = error
    return { result: { ok: false, code: wireCode(code), message, ...(help !== undefined && { help }) }, scopes: [] }
  }
}
