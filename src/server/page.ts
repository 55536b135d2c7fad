import type { Ask } from './route.ts'

/** The members of a query that ask for one page of a list. */
export const pageQuery = ['limit', 'cursor'] as const

/** The page that a query asks for. A limit that is no number becomes one that is refused. */
export function pageOf(ask: Ask): { readonly limit?: number; readonly cursor?: string } {
  const [limit, cursor] = pageQuery.map((name) => ask.query().get(name))
  return {
    ...(limit != null && { limit: /^\d{1,6}$/.test(limit) ? Number(limit) : Number.NaN }),
    ...(cursor != null && { cursor }),
  }
}
