import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { statusOf, wireCode } from '../base/failure-codes.ts'
import type { ResourceToolContext, Touched } from './provider.ts'

/** A result before it says that it is one, and every scope behind it. */
export interface Found {
  readonly result: { readonly [member: string]: Json }
  readonly scopes: readonly string[]
}

/** What a tool finds under its live grants; without any it fails. That a file or pack cannot be had is an answer, too. */
export async function answer(
  { grants, resourceName }: ResourceToolContext,
  work: () => Promise<Found>,
): Promise<Touched> {
  if (grants.length === 0)
    throw new Failure('grant.missing', `resource ${quote(resourceName)} needs a grant`, { resource: resourceName })
  try {
    const { result, scopes } = await work()
    return { result: { ok: true, ...result }, scopes }
  } catch (error) {
    const isOwn = error instanceof Failure && /^(?:file|pack)\./.test(error.code) && statusOf[error.code] < 500
    if (!isOwn) throw error
    const { code, message, help } = error
    return { result: { ok: false, code: wireCode(code), message, ...(help !== undefined && { help }) }, scopes: [] }
  }
}
