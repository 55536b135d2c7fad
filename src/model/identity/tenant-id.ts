import { Failure, quote } from '../../base/failure.ts'

/** A tenant's id that has been checked. Every key of the store begins with one, so a call without it does not compile. */
export type TenantId = string & { readonly [checked]: true }
declare const checked: unique symbol

export const tenantIdPattern = /^[a-z0-9][a-z0-9_-]{0,62}$/

export function tenantId(text: string): TenantId {
  if (!tenantIdPattern.test(text)) {
    throw new Failure(
      'id.invalid',
      `tenant id ${quote(text)} is not valid`,
      {},
      'use 1 to 63 lower-case letters, digits, hyphens and underscores',
    )
  }
  return text as TenantId
}
