// Documents that are imported, in as few words as a test needs.

import { type ImportOptions, importOpenApi } from '../../src/adapters/openapi/import.ts'
import type { Json } from '../../src/base/canonical.ts'

export const url = 'https://api.example/v1'
export const text = { type: 'string' }
export const ok = { responses: { 200: { description: 'ok' } } }

export const givenImport = (document: object, options: Partial<ImportOptions> = {}) =>
  importOpenApi(
    { openapi: '3.1.0', info: { title: 'Depot', version: '2.1' }, servers: [{ url }], ...document } as Json,
    { name: 'depot', ...options },
  )

/** What is made of one operation, or why nothing is. */
export const importOne = (
  operation: object,
  { method = 'get', path = '/a', ...document }: { method?: string; path?: string; [key: string]: unknown } = {},
) => {
  const { upstream, skipped } = givenImport({ ...document, paths: { [path]: { [method]: { ...ok, ...operation } } } })
  return {
    request: upstream.capabilities[0]?.request,
    descriptor: upstream.capabilities[0]?.descriptor,
    server: upstream.server,
    reason: skipped[0]?.reason,
  }
}
